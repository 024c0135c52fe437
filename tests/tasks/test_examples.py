"""Batches of ragged rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.tasks import examples

LENGTHS = np.random.default_rng(0).integers(3, 60, 700)


def test_an_epoch_takes_every_row_once():
    batches = examples.epoch(LENGTHS, 16, "task", 0, 1)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(LENGTHS)))
    assert {len(batch) for batch in batches} <= {16, len(LENGTHS) % 16}


def test_the_order_is_a_function_of_its_key():
    first, again, other = (examples.epoch(LENGTHS, 16, "task", epoch) for epoch in (0, 0, 1))
    assert all((one == two).all() for one, two in zip(first, again, strict=True))
    assert any(set(one) != set(two) for one, two in zip(first, other, strict=True))


def test_batches_of_the_same_rows_come_in_another_order():
    one, two = ([*map(tuple, examples.epoch(np.arange(64), 2, epoch))] for epoch in (0, 1))
    assert sorted(one) == sorted(two), "all lengths differ"
    assert one != two


def test_rows_of_a_batch_have_similar_lengths():
    padded = sum(len(batch) * LENGTHS[batch].max() for batch in examples.epoch(LENGTHS, 16, 0))
    assert padded < 1.15 * LENGTHS.sum()
    lengths = [LENGTHS[batch].mean() for batch in examples.epoch(LENGTHS, 16, 0)]
    assert abs(np.corrcoef(lengths, np.arange(len(lengths)))[0, 1]) < 0.5, "the batches come sorted"


@given(st.lists(st.integers(1, 100), min_size=1, max_size=50), st.integers(1, 300))
def test_evaluation_batches_keep_to_their_budget(lengths, tokens):
    batches = examples.by_length(np.array(lengths), tokens)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= tokens


def test_widths_are_few():
    sequences = [np.ones(length, int) for length in range(1, 41)]
    nothing = [np.array([0])] * 40
    found = examples.Examples(
        sequences=sequences,
        second_starts=np.ones(40, int),
        positions=nothing,
        targets=np.zeros(40, int),
        owners=np.arange(40),
        pad=0,
        raw_count=40,
    )
    widths = {found.batch(np.array([row])).tokens.shape[1] for row in range(40)}
    assert widths == {8, 16, 24, 32, 40}


def test_a_batch_is_cut_to_its_longest_row():
    found = examples.Examples(
        sequences=[np.array(each) for each in ([2, 5, 3], [2, 3], [2, 6, 7, 8, 3])],
        second_starts=np.array([3, 2, 3]),
        positions=[np.array([1]), np.array([], int), np.array([1, 3])],
        targets=np.array([4, 5, 6]),
        owners=np.array([0, 2, 2]),
        pad=0,
        raw_count=3,
    )
    batch = found.batch(np.array([1, 0]))
    assert batch.tokens.tolist() == [[2, 3, 0, 0, 0], [2, 5, 3, 0, 0]]  # the longest of all has 5
    assert batch.targets.tolist() == [[examples.IGNORED] * 2, [4, examples.IGNORED]]
    assert batch.slots.tolist() == [[-1, -1], [0, -1]]
    batch = found.batch(np.array([2, 0]))
    assert batch.segments.tolist() == [[0, 0, 0, 1, 1], [0] * 5]
    assert batch.positions.tolist() == [[1, 3], [1, 0]]
    assert batch.targets.tolist() == [[5, 6], [4, examples.IGNORED]]
    with pytest.raises(IndexError):
        found.batch(np.array([3]))


def encoded(**changes):
    """Two sequences of three and two tokens, a target at the first of each."""
    usual = {
        "sequences": [np.array([2, 9, 3]), np.array([2, 3])],
        "second_starts": np.array([3, 2]),
        "positions": [np.zeros(1, int)] * 2,
        "targets": np.array([1, 0]),
        "owners": np.arange(2),
        "pad": 0,
        "raw_count": 2,
    }
    return examples.Examples(**(usual | changes))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sequences": [np.array([2, 10, 3]), np.array([2, 3])]}, "makes tokens from 2 to 10: give ids from 0 to 9"),
        ({"sequences": [np.array([2, -1, 3]), np.array([2, 3])]}, "makes tokens from -1 to 3"),
        ({"sequences": [np.array([2.0, 9, 3]), np.array([2, 3])]}, "makes tokens from 2.0 to 9.0"),
        ({"sequences": [np.arange(5), np.array([2, 3])]}, "makes sequences of up to 5 tokens: give 1 to 4"),
        ({"sequences": [np.arange(3), np.zeros(0, int)]}, "makes sequences of up to 3 tokens: give 1 to 4"),
        ({"sequences": [np.arange(3)]}, "makes 2 examples of 1 sequences, 1 sequences and 2 second_starts"),
        ({"choices": 2}, "makes 2 examples of 2 sequences, 2 sequences and"),
        ({"second_starts": np.zeros(1)}, "makes 2 examples of 1 sequences, 2 sequences and 1 second_starts"),
        ({"sequences": [], "positions": [], "second_starts": np.zeros(0)}, "makes 0 examples"),
        ({"positions": [np.array([3]), np.array([0])]}, "makes positions beyond their sequences"),
        ({"positions": [np.array([0]), np.array([-1])]}, "makes positions beyond their sequences"),
        ({"targets": np.array([1])}, "makes 2 positions, 1 targets and 2 owners: give as many"),
        ({"targets": np.array([0.5, np.nan])}, "makes targets array"),
        ({"targets": np.array(["a", "b"])}, "makes targets array"),
        ({"targets": np.array([0, 2])}, "makes targets from 0 to 2: give labels from 0 to 1"),
        ({"targets": np.array([0, -1])}, "makes targets from -1 to 0"),
        ({"targets": np.array([0, examples.IGNORED])}, ""),
        ({}, ""),
    ],
)
def test_examples_that_no_batch_can_hold_are_described(changes, says):
    problem = encoded(**changes).problem(vocabulary=10, length=4, labels=2)
    assert problem.startswith(says) if says else problem == ""


def test_values_of_a_regression_are_any_finite_numbers():
    assert encoded(targets=np.array([-3.5, 1e6])).problem(10, 4, 0) == ""
