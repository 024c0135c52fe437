"""Labels, truncation and arrays of classification."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.errors import BadInput
from bertlab.tasks.kinds import base, classification
from bertlab.tasks.task import RawExamples, Table, Task

NAMES = ("no", "yes")
KIND = classification.Classification()


def label_names(*splits):
    task = Task(kind="classification", text=("text",))
    return KIND.label_names(task, [Table("file", {"label": values}) for values in splits])


def encode(text, labels, tokenizer, length):
    return KIND.encode(RawExamples(text=tuple(text), labels=labels), tokenizer, length)


def test_labels_are_found_in_the_data():
    assert label_names(["b", "a"], ["c"]) == ("a", "b", "c")
    assert label_names([0, 2], [1]) == ("0", "1", "2")
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
