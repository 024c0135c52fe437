"""Labels, truncation and arrays of classification, regression and multiple choice."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.errors import BadInput
from bertlab.tasks import examples
from bertlab.tasks.kinds import KINDS, base, classification
from bertlab.tasks.task import RawExamples, Table, Task

NAMES = ("no", "yes")
KIND = classification.Classification()


def label_names(*splits):
    task = Task(kind="classification", text=("text",))
    return KIND.label_names(task, [Table("file", {"label": values}) for values in splits])


def encode(text, labels, tokenizer, length):
    return KIND.encode(RawExamples(text=tuple(text), labels=labels), tokenizer, length)


def test_labels_are_found_in_the_data():
    assert label_names(["b", "a"], ["c", "a"]) == ("a", "b", "c")
    assert label_names([0, 2], [1, 2]) == ("0", "1", "2")
    with pytest.raises(BadInput, match=r"label 'a' in file column label row 1: give texts alone, or"):
        label_names([0, 2], ["a"])
    with pytest.raises(BadInput, match=r"label 3\.8 in file column label row 1"):
        label_names([0, 2], [3.8])


def by_popping(first, second, budget):
    """The rule as Google's code has it."""
    while first + second > budget:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


@given(st.integers(0, 60), st.integers(0, 60), st.integers(2, 70))
def test_the_longer_of_a_pair_is_cut(first, second, budget):
    assert base.truncated(first, second, budget) == by_popping(first, second, budget)


def test_arrays_of_pairs(tokenizer):
    found = encode([["ab", "abcdefgh"], ["c", "abcd"]], [1, 0], tokenizer, 11)
    ids = {piece: number for number, piece in enumerate(tokenizer.vocabulary)}
    batch = found.batch(np.array([0, 1]))
    assert batch.lengths.tolist() == [6, 11]
    assert (
        batch.tokens[0].tolist()
        == [ids[each] for each in ["[CLS]", "a", "##b", "[SEP]", "c", "[SEP]"]] + [tokenizer.pad] * 5
    )
    assert batch.segments[0].tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    assert batch.segments[1].tolist() == [0] * 6 + [1] * 5
    assert (batch.tokens[1] == tokenizer.sep).nonzero()[0].tolist() == [5, 10]
    assert batch.positions.tolist() == [[0], [0]]
    assert batch.targets.tolist() == [[1], [0]]


def test_arrays_of_single_texts(tokenizer):
    found = encode([["", "abcdefgh"]], [1, 0], tokenizer, 8)
    batch = found.batch(np.array([1, 0]))
    assert batch.lengths.tolist() == [8, 2]
    assert not batch.segments.any()


@pytest.mark.parametrize(("labels", "of_f1"), [("", ("f1", "macro_f1")), ("ab", ("f1",)), ("abc", ("macro_f1",))])
def test_f1_is_of_two_classes_and_macro_f1_of_more_and_either_of_labels_that_are_not_read_yet(labels, of_f1):
    assert KIND.metrics_for_labels(tuple(labels)) == ("accuracy", "matthews", *of_f1, "exact")


def test_a_task_has_exact_match_if_it_names_its_questions():
    task = Task(kind="classification", text=("text",))
    assert KIND.metrics_of(task, NAMES) == ("accuracy", "matthews", "f1")
    assert KIND.metrics_of(dataclasses.replace(task, question="id"), NAMES) == ("accuracy", "matthews", "f1", "exact")


def numbers(values):
    task = Task(kind="regression", text=("text",), label="score")
    return KINDS["regression"].answers(task, Table("file", {"score": values}), ())


def test_numbers():
    assert numbers([1, 2.5]) == [1, 2.5]


def test_the_likelihood_is_relative_to_the_spread_of_the_scores():
    found = KINDS["regression"].likelihood({"prediction": np.array([1.0, 1.0]), "label": np.array([-1.0, 1.0])})
    assert found.contributions() == pytest.approx([100 * np.exp(-2), 100])


@pytest.mark.parametrize(("spread", "collapsed"), [(0.0, True), (0.009, True), (0.02, False)])
def test_a_regression_that_hardly_varies_has_collapsed(spread, collapsed):
    scores, label = np.array([[3 - spread], [3 + spread]]), np.array([2.0, 4.0])
    predicted = KINDS["regression"].predict(None, None, SimpleNamespace(targets=label), scores)
    assert predicted.collapsed is collapsed


@pytest.mark.parametrize("wrong", [None, "", "3.75", float("nan"), float("inf"), True, [1.0]])
def test_what_is_no_number_is_named(wrong):
    with pytest.raises(BadInput, match=r"file column score row 2 is .*: give a finite number"):
        numbers([1.0, wrong])


def encode_choices(text, labels, tokenizer, length):
    return KINDS["multiple-choice"].encode(RawExamples(text=tuple(text), labels=labels), tokenizer, length)


def endings(*columns):
    names = ("context", *"xy"[: len(columns)])
    table = Table("file", dict(zip(names, (["a"] * len(columns[0]), *columns), strict=True)))
    return [*KINDS["multiple-choice"].text(Task(kind="multiple-choice", text=names), table)[1:]]


def test_an_example_is_as_many_rows_as_it_has_endings(tokenizer):
    text = [["a", "b"], ["c", "dd"], ["ee", "f"], ["g", "abcdefgh"]]
    found = encode_choices(text, [2, 0], tokenizer, 9)
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
    found = encode_choices(columns, [0] * count, tokenizer, 32)
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
