"""Means, spreads, intervals and paired differences against values worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bertlab.report.statistics import Scores, deviation, difference, mean, separation, summarise, t_interval, welch

points = st.lists(st.floats(0, 100), min_size=2, max_size=8)


def test_mean_and_sample_deviation() -> None:
    assert mean([2.0, 4.0, 9.0]) == 5.0
    assert deviation([2.0, 4.0, 9.0]) == pytest.approx(math.sqrt(13))  # (9 + 1 + 16) / 2
    assert deviation([3.0]) is None
    with pytest.raises(ValueError, match="no values"):
        mean([])


def test_t_interval_of_three_values() -> None:
    interval = t_interval([1.0, 2.0, 3.0])
    assert interval is not None
    assert interval.half == pytest.approx(4.302653 / math.sqrt(3), abs=1e-5)  # t(.975; 2), sd 1
    assert (interval.low + interval.high) / 2 == pytest.approx(2.0)
    assert interval.covers(0.0)


def test_t_interval_of_two_values_and_of_one() -> None:
    interval = t_interval([0.0, 2.0])
    assert interval is not None
    assert interval.high == pytest.approx(1 + 12.7062, abs=1e-3)  # t(.975; 1), sd sqrt 2, n 2
    assert t_interval([1.0]) is None


@given(points)
def test_a_higher_level_gives_a_wider_interval(values: list[float]) -> None:
    narrow, wide = t_interval(values, 0.8), t_interval(values, 0.99)
    assert narrow is not None
    assert wide is not None
    assert narrow.half <= wide.half


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


def test_difference_is_paired_by_seed_over_the_seeds_in_common() -> None:
    row = Scores({0: [51.0, 53.0], 1: [60.0], 5: [0.0]})
    baseline = Scores({1: [59.0], 0: [50.0], 9: [100.0]})
    found = difference(row, baseline)
    assert found is not None
    assert found.n == 2
    assert found.mean == pytest.approx(1.5)  # 2 and 1
    assert found.interval is not None
    assert found.interval.half == pytest.approx(12.7062 * 0.5, abs=1e-3)


def test_pairing_removes_what_the_seeds_share() -> None:
    row, baseline = Scores({0: [10.5], 1: [50.5], 2: [90.5]}), Scores({0: [10.0], 1: [50.0], 2: [90.0]})
    found = difference(row, baseline)
    assert found is not None
    assert found.interval is not None
    assert found.interval.low == pytest.approx(0.5)
    assert found.interval.high == pytest.approx(0.5)


def test_one_common_seed_has_no_interval_and_none_no_difference() -> None:
    single = difference(Scores({0: [2.0, 4.0]}), Scores({0: [1.0], 1: [5.0]}))
    assert single is not None
    assert (single.mean, single.n, single.interval) == (2.0, 1, None)
    assert difference(Scores({0: [1.0]}), Scores({1: [1.0]})) is None


@given(st.dictionaries(st.integers(0, 5), st.lists(st.floats(0, 100), min_size=1, max_size=3), min_size=1))
def test_a_row_does_not_differ_from_itself(by_seed: dict[int, list[float]]) -> None:
    found = difference(Scores(by_seed), Scores(by_seed))
    assert found is not None
    assert found.mean == 0.0


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
