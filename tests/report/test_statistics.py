"""Means and spreads against values worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st

from bertlab.report.statistics import Scores, deviation, mean, separation, summarise

points = st.lists(st.floats(0, 100), min_size=2, max_size=8)


def test_mean_and_sample_deviation() -> None:
    assert mean([2.0, 4.0, 9.0]) == 5.0
    assert deviation([2.0, 4.0, 9.0]) == pytest.approx(math.sqrt(13))  # (9 + 1 + 16) / 2
    assert deviation([3.0]) is None
    with pytest.raises(ValueError, match="no values"):
        mean([])


def test_restarts_are_averaged_before_seeds() -> None:
    summary = summarise(Scores({0: [10.0, 20.0, 30.0], 1: [40.0]}))
    assert summary is not None
    assert summary.mean == 30.0  # and not 25, the mean of the four
    assert summary.sd == pytest.approx(math.sqrt(200))
    assert (summary.over, summary.seeds, summary.restarts) == ("seeds", 2, (1, 3))
    assert (summary.low, summary.high) == (20.0, 40.0)


def test_with_one_seed_the_spread_is_over_its_restarts() -> None:
    summary = summarise(Scores({7: [10.0, 12.0]}))
    assert summary is not None
    assert summary.sd == pytest.approx(math.sqrt(2))
    assert (summary.over, summary.seeds) == ("restarts", 1)
    assert (summary.low, summary.high) == (10.0, 12.0)
    single = summarise(Scores({7: [10.0]}))
    assert single is not None
    assert single.sd is None
    assert summarise(Scores({})) is None


def test_separation_is_in_pooled_standard_deviations() -> None:
    one, other = summarise(Scores({0: [9.0, 11.0]})), summarise(Scores({0: [19.0, 21.0]}))
    assert one is not None
    assert other is not None
    assert separation(one, other) == pytest.approx(10 / math.sqrt(2))
    single = summarise(Scores({0: [1.0]}))
    assert single is not None
    assert separation(one, single) is None
