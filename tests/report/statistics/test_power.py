"""Numbers of seeds against textbook values, and against the share of simulated studies that see the effect."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS
from bertlab.report.statistics.variance import VarianceComponents
from bertlab.report.verdicts import power, seeds_needed


def over_seeds(sd: float = 1.0, n: int = 5) -> VarianceComponents:
    """A spread to which the examples add nothing."""
    return VarianceComponents(n=n, examples=1, between=sd**2, sampling=0.0)


@pytest.mark.parametrize(("effect", "seeds"), [(0.5, 34), (0.8, 15), (1.0, 10), (2.0, 5)])
def test_textbook_sample_sizes_of_the_paired_t_test(effect: float, seeds: int) -> None:
    assert seeds_needed(effect, None, over_seeds()) == seeds  # as G*Power gives them for two sides, 5 % and 80 %
    assert seeds_needed(-effect, None, over_seeds()) == seeds
    assert power(effect, None, over_seeds(), seeds - 1) < 0.8 <= power(effect, None, over_seeds(), seeds)


def test_power_is_that_of_the_non_central_t() -> None:
    bound, shift = scipy.stats.t.ppf(0.975, 7), 1.2 * math.sqrt(8)
    expected = scipy.stats.nct.sf(bound, 7, shift) + scipy.stats.nct.cdf(-bound, 7, shift)
    assert power(1.2, None, over_seeds(), 8) == pytest.approx(expected)
    assert power(0.0, None, over_seeds(), 8) == pytest.approx(0.05)


def test_examples_set_an_end_to_what_seeds_can_see() -> None:
    spread = VarianceComponents(
        n=6, examples=400, between=1.0, sampling=0.25
    )  # a standard error of half a point for ever
    assert seeds_needed(0.5, None, spread) == math.inf
    needed = seeds_needed(1.6, None, spread)  # leaves the seeds 1.6^2 / 2.8^2 - 0.25 = 0.08
    assert needed is not None
    assert 10 < needed < 20
    assert seeds_needed(0.0, None, over_seeds()) == math.inf


def test_two_seeds_are_too_few_to_plan_by() -> None:
    assert seeds_needed(1.0, None, over_seeds(n=2)) is None
    assert seeds_needed(1.0, None, None) is None
    assert seeds_needed(0.0, (-1.0, 1.0), over_seeds(n=2)) is None


def test_no_plan_is_below_the_floor_of_a_verdict() -> None:
    assert seeds_needed(100.0, None, over_seeds()) == VERDICT_MIN_SEEDS
    assert seeds_needed(0.0, (-100.0, 100.0), over_seeds()) == VERDICT_MIN_SEEDS


@given(st.floats(0.2, 3), st.floats(0.05, 2))
def test_a_stricter_test_and_a_larger_spread_take_more(effect: float, sd: float) -> None:
    fewest = seeds_needed(effect, None, over_seeds(sd))
    stricter, noisier = (
        seeds_needed(effect, None, over_seeds(sd), level=0.99),
        seeds_needed(effect, None, over_seeds(2 * sd)),
    )
    assert fewest is not None
    assert stricter is not None
    assert noisier is not None
    assert fewest <= stricter
    assert fewest <= noisier


def test_equivalence_by_simulation() -> None:
    rng = np.random.default_rng(0)
    values = 0.3 + rng.standard_normal((20_000, 12))
    error = values.std(1, ddof=1) / math.sqrt(12)
    bound = scipy.stats.t.ppf(0.95, 11)
    within = np.mean((values.mean(1) + bound * error < 1.2) & (values.mean(1) - bound * error > -1.2))
    assert power(0.3, (-1.2, 1.2), over_seeds(), 12) == pytest.approx(float(within), abs=0.01)
    one_side = np.mean(values.mean(1) - bound * error > -0.5)
    assert power(0.3, (-0.5, math.inf), over_seeds(), 12) == pytest.approx(float(one_side), abs=0.01)


def test_seeds_to_rule_out_an_effect() -> None:
    # Chow, Shao and Wang: (z(.95) + z(.90))^2 / margin^2 = 8.6 with a known spread; the t test takes two more.
    assert seeds_needed(0.0, (-1.0, 1.0), over_seeds()) == 11
    further = seeds_needed(0.5, (-1.0, 1.0), over_seeds())
    assert further is not None
    assert further > 11
    assert seeds_needed(1.0, (-1.0, 1.0), over_seeds()) == math.inf  # no study shows what is not so
    assert seeds_needed(0.0, (-0.1, 0.1), VarianceComponents(n=6, examples=9, between=1.0, sampling=1.0)) == math.inf


def test_an_effect_many_errors_inside_a_margin_is_ruled_out_by_any_number_of_seeds() -> None:
    spread = VarianceComponents(n=6, examples=60, between=0.0122, sampling=0.0, interaction=0.0143, borrowed=2.0)
    assert seeds_needed(0.1, (-1.0, 1.0), spread) == VERDICT_MIN_SEEDS
    assert min(power(0.1, (-1.0, 1.0), spread, n) for n in range(VERDICT_MIN_SEEDS, 3000, 7)) > 0.99
    assert min(power(1.0, None, spread, n) for n in range(VERDICT_MIN_SEEDS, 3000, 7)) > 0.99
