"""Batches of ragged rows."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.adaptation.base import narrowed
from bertlab.machine import Machine
from bertlab.recipe import Proportional
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


@pytest.mark.parametrize(("step", "expected"), [({}, {8, 16, 24, 32, 40}), ({"width_step": 1}, {*range(1, 41)})])
def test_widths_are_few_or_as_narrow_as_can_be(step, expected):
    sequences = [np.ones(length, int) for length in range(1, 41)]
    nothing = [np.array([0])] * 40
    encoded = examples.Examples(
        **step,
        sequences=sequences,
        segment_b_start=np.ones(40, int),
        positions=nothing,
        targets=np.zeros(40, int),
        example_index=np.arange(40),
        pad=0,
        raw_count=40,
    )
    widths = {encoded.batch(np.array([row])).tokens.shape[1] for row in range(40)}
    assert widths == expected


def test_a_batch_is_cut_to_its_longest_row():
    found = examples.Examples(
        sequences=[np.array(each) for each in ([2, 5, 3], [2, 3], [2, 6, 7, 8, 3])],
        segment_b_start=np.array([3, 2, 3]),
        positions=[np.array([1]), np.array([], int), np.array([1, 3])],
        targets=np.array([4, 5, 6]),
        example_index=np.array([0, 2, 2]),
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


@pytest.mark.parametrize(
    ("options", "hidden", "step"),
    [
        ({"gpus": 1}, 384, 8),
        ({"precision": "bf16"}, 384, 2),
        ({"precision": "fp32"}, 384, 1),
        ({"precision": "fp32"}, 96, 8),
    ],
)
def test_batches_are_as_narrow_as_a_wide_model_is_fast_with(options, hidden, step):
    none = np.zeros(0, np.int32)
    part = examples.Examples(
        sequences=[], segment_b_start=none, positions=[], targets=none, example_index=none, pad=0, raw_count=0
    )
    model = SimpleNamespace(encoder=SimpleNamespace(hidden_size=hidden))
    assert narrowed(part, model, Machine(**options)).width_step == step


def test_a_mixture_has_its_rates_and_passes_over_all_examples_of_each_task():
    parts = np.array([0] * 30 + [1] * 6 + [2] * 4)
    drawn = [examples.mixed(parts, Proportional(limit=10), epoch, "key") for epoch in range(4)]
    assert {tuple(np.bincount(parts[rows])) for rows in drawn} == {(20, 12, 8)}
    counts = np.bincount(np.concatenate(drawn))
    assert [*map(set, np.split(counts, [30, 36]))] == [{2, 3}, {8}, {8}]
    again = examples.mixed(parts, Proportional(limit=10), 3, "key")
    assert again.tolist() == drawn[3].tolist() != examples.mixed(parts, Proportional(limit=10), 3, "other").tolist()
    (*batches,) = examples.epoch(LENGTHS[:40], 16, 0, rows=drawn[0])
    assert sorted(np.concatenate(batches)) == sorted(drawn[0])
