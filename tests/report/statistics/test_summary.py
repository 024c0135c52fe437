"""Means and spreads against values worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st
from scipy import stats

from bertlab.report.statistics.summary import Scores, deviation, mean, separation, summarise, welch

points = st.lists(st.floats(0, 100), min_size=2, max_size=8)


def test_mean_and_sample_deviation() -> None:
    assert mean([2.0, 4.0, 9.0]) == 5.0
    assert deviation([2.0, 4.0, 9.0]) == pytest.approx(math.sqrt(13))  # (9 + 1 + 16) / 2
    assert deviation([3.0]) is None
    with pytest.raises(ValueError, match="no values"):
        mean([])


def test_finetune_seeds_are_averaged_before_seeds() -> None:
    summary = summarise(Scores({0: [10.0, 20.0, 30.0], 1: [40.0]}))
    assert summary is not None
    assert summary.mean == 30.0  # and not 25, the mean of the four
    assert summary.sd == pytest.approx(math.sqrt(200))
    assert (summary.over, summary.seeds, summary.finetune_seeds) == ("seeds", 2, (1, 3))
    assert (summary.low, summary.high) == (20.0, 40.0)


def test_with_one_seed_the_spread_is_over_its_finetune_seeds() -> None:
    summary = summarise(Scores({7: [10.0, 12.0]}))
    assert summary is not None
    assert summary.sd == pytest.approx(math.sqrt(2))
    assert (summary.over, summary.seeds) == ("fine-tuning seeds", 1)
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


def test_welch_of_samples_that_vary_differently() -> None:
    """Variances 1 and 20 / 3, standard errors squared 1 / 3 and 5 / 3: their sum 2, with 4.0755 degrees of freedom."""
    one, two = [1.0, 2.0, 3.0], [2.0, 4.0, 6.0, 8.0]
    interval = welch(one, two)
    assert interval is not None
    assert (interval.low + interval.high) / 2 == pytest.approx(-3.0)
    freedom = 4 / ((1 / 3) ** 2 / 2 + (5 / 3) ** 2 / 3)
    assert freedom == pytest.approx(4.0755, abs=1e-4)
    reference = stats.ttest_ind(one, two, equal_var=False).confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx((reference.low, reference.high))
    assert interval.half == pytest.approx(stats.t.ppf(0.975, freedom) * math.sqrt(2))


def test_welch_takes_two_of_each_and_a_spread() -> None:
    assert welch([1.0], [2.0, 3.0]) is None
    assert welch([1.0, 2.0], [3.0]) is None
    assert welch([1.0, 1.0], [2.0, 2.0]) is None
    assert welch([1.0, 1.0], [2.0, 3.0]) is not None
