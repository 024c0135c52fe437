"""Means and spreads against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from bertlab.report.statistics.effects import summarise


def test_finetune_seeds_are_averaged_before_seeds() -> None:
    summary = summarise({0: [10.0, 20.0, 30.0], 1: [40.0]})
    assert summary is not None
    assert summary.mean == 30.0  # and not 25, the mean of the four
    assert summary.sd == pytest.approx(math.sqrt(200))
    assert (summary.seeds, summary.finetune_seeds, summary.median) == (2, (1, 3), 25.0)
    assert (summary.low, summary.high) == (20.0, 40.0)


def test_with_one_seed_the_spread_is_over_its_finetune_seeds() -> None:
    summary = summarise({7: [10.0, 12.0]})
    assert summary is not None
    assert summary.sd == pytest.approx(math.sqrt(2))
    assert (summary.seeds, summary.finetune_seeds) == (1, (2, 2))
    assert (summary.low, summary.high) == (10.0, 12.0)
    for none in (summarise({7: [10.0]}), summarise({7: [10.0, 12.0]}, of_seeds=True)):
        assert none is not None
        assert none.sd is None
    assert summarise({}) is None
