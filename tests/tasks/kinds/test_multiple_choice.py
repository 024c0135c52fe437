"""Endings and their arrays."""

import numpy as np
import pytest

from bertlab.errors import BadInput
from bertlab.tasks import examples
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.task import RawExamples, Table, Task


def encode(text, labels, tokenizer, length):
    return KINDS["multiple-choice"].encode(RawExamples(text=tuple(text), labels=labels), tokenizer, length)


def endings(*columns):
    names = ("context", *"xy"[: len(columns)])
    table = Table("file", dict(zip(names, (["a"] * len(columns[0]), *columns), strict=True)))
    return [*KINDS["multiple-choice"].text(Task(kind="multiple-choice", text=names), table)[1:]]


def test_an_example_is_as_many_rows_as_it_has_endings(tokenizer):
    text = [["a", "b"], ["c", "dd"], ["ee", "f"], ["g", "abcdefgh"]]
    found = encode(text, [2, 0], tokenizer, 9)
    assert (len(found), found.raw_count, found.choices) == (2, 2, 3)
    assert found.lengths.tolist() == [6, 9], "the longest ending of each"
    batch = found.batch(np.array([1, 0]))
    read = [
        "".join(tokenizer.vocabulary[token] for token in row[:length]).replace("##", "")
        for row, length in zip(batch.tokens, batch.lengths, strict=True)
    ]
    start = "[CLS]{}[SEP]{}[SEP]".format
    assert read == [
        start("b", "dd"), start("b", "f"), start("b", "abcde"), start("a", "c"), start("a", "ee"), start("a", "g"),
    ]  # fmt: skip
    assert batch.segments[0].tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0]
    assert batch.targets.tolist() == [[0], [2]]
    assert batch.slots.tolist() == [[1], [0]]


def test_batches_are_of_examples(tokenizer):
    count = 50
    columns = [["abcdefgh"[: 1 + number % 8] for number in range(count)] for _ in range(5)]
    found = encode(columns, [0] * count, tokenizer, 32)
    for batches in (examples.epoch(found.lengths, 8, "key"), examples.by_length(found.lengths, 64)):
        assert sorted(np.concatenate(batches).tolist()) == list(range(count))


def test_endings_as_columns_or_as_lists():
    assert endings(["a"], ["b"]) == [["a"], ["b"]]
    assert endings([["a", "b"], ["c", "d"]]) == [["a", "c"], ["b", "d"]]


def test_an_ending_fills_the_blank_of_a_question_or_stands_behind_it():
    columns = [["It was _ .", "Who?"], [["a", "b"], ["c", "d"]]]
    assert endings(*columns) == [["It was a .", "Who? c"], ["It was b .", "Who? d"]]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ([["a", None], ["b", "c"]], "file column x row 2 is None"),
        ([[["a", "b"], ["c"]]], "file column x row 2 is ['c']: give a list of two endings or more"),
        ([[["a", "b"], ["c", "d", "e"]]], "file column x row 2 has 3 endings, the first row 2"),
        ([[["a", "b"], "cd"]], "file column x row 2 is 'cd': give a list"),
        ([["ab", "cd"]], "file column x row 1 is 'ab': give a list"),
        ([[["a", "b"], ["c", 3]]], "file column x row 2 is 3: give a text"),
        ([["q", "r"], [["a", "b"], ["c"]]], "file column y row 2 is ['c']: give a list of two endings or more"),
        ([["q", 4], [["a", "b"], ["c", "d"]]], "file column x row 2 is 4: give a text"),
    ],
)
def test_wrong_endings_are_named(columns, says):
    with pytest.raises(BadInput) as caught:
        endings(*columns)
    assert says in str(caught.value)


def test_answers_by_text_are_not_taken_for_numbers():
    kind, task = KINDS["multiple-choice"], Task(kind="multiple-choice", text=("context", "x"), label="right")

    def answers(right, *listed):
        return kind.answers(
            task, Table("file", {"context": ["a"] * 2, "x": [*listed], "right": right}), ("0", "1", "2")
        )

    assert answers(["1", "9"], ["3", "1", "2"], ["7", "8", "9"]) == [1, 2]
    assert answers(["0", "2"], ["a", "b", "c"], ["d", "e", "f"]) == [0, 2]
    assert answers(["0", "1"], ["0", "1", "2"], ["0", "1", "2"]) == [0, 1], "both readings agree"
    assert answers([2, 1], ["2", "1", "3"], ["0", "1", "2"]) == [2, 1]
    with pytest.raises(BadInput, match="number of another: give numbers without quotes"):
        answers(["2", "1"], ["2", "1", "3"], ["0", "1", "2"])
