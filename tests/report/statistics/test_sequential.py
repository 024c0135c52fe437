"""Boundaries of repeated looks and numbers of seeds: published values, sums by hand, and errors and power by
simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS
from bertlab.report.statistics.sequential import boundary, fraction, nominal, sequential_p, spent
from bertlab.report.statistics.variance import VarianceComponents
from bertlab.report.verdicts import holm, power, seeds_needed

FIFTHS = (0.2, 0.4, 0.6, 0.8, 1.0)


def test_critical_values_are_those_published() -> None:
    # Reboussin et al. 2000, Table 1 of the program ld98: five equal looks, two-sided 5 %
    assert boundary(FIFTHS, 0.05) == pytest.approx((4.877, 3.357, 2.680, 2.290, 2.031), abs=5e-4)
    # two looks: gsDesign(k=2, test.type=2, sfu=sfLDOF)
    assert boundary((0.5, 1.0), 0.05) == pytest.approx((2.963, 1.969), abs=5e-4)


def test_one_look_at_the_end_is_the_plain_test() -> None:
    assert nominal((1.0,), 0.05) == pytest.approx([0.05])
    assert sequential_p((1.0,), [0.031]) == (pytest.approx(0.031), 0)


def test_what_is_spent_by_hand() -> None:
    assert spent(1.0, 0.05) == pytest.approx(0.025)  # one side
    # half the way: 2 (1 - Phi(2.2414 / 0.7071)) = 2 (1 - Phi(3.1698))
    assert spent(0.5, 0.05) == pytest.approx(0.001525, abs=1e-6)
    assert nominal((0.5, 1.0), 0.05)[0] == pytest.approx(2 * 0.001525, abs=2e-6)


def test_the_sequential_p_is_the_level_that_just_crosses() -> None:
    fractions = tuple(n / 12 for n in range(4, 13))
    ps = [0.04, 0.02, 0.01, 0.004, 0.003, 0.004, 0.01, 0.02, 0.03]
    for looks in range(1, len(ps) + 1):
        found, which = sequential_p(fractions[:looks], ps[:looks])
        bounds = nominal(fractions[:looks], found)
        assert ps[which] == pytest.approx(bounds[which], rel=1e-4)
        assert all(p >= bound * (1 - 1e-4) for p, bound in zip(ps[:looks], bounds, strict=True))
    assert which == 5


def test_another_look_never_raises_the_sequential_p() -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        ps = rng.random(5) ** 3
        found = [sequential_p(FIFTHS[:looks], ps[:looks])[0] for looks in range(1, 6)]
        assert (np.diff(found) <= 1e-6).all()
        assert all(each >= p - 1e-6 for each, p in zip(found, np.minimum.accumulate(ps), strict=True))
    assert sequential_p((0.5, 1.0), [1.0, 1.0])[0] == 1.0
    assert 0 < sequential_p((0.5, 1.0), [0.0, 1.0])[0] < 1e-5


@pytest.mark.parametrize("most", [44, 48])
def test_large_maxima_spend_hardly_anything_early(most: int) -> None:
    fractions = [fraction(n, most) for n in (4, 5, 6)]
    assert sequential_p(fractions, [0.5, 0.5, 0.5])[0] == pytest.approx(1.0, abs=1e-3)
    found, which = sequential_p(fractions, [0.5, 0.2, 1e-9])
    assert 1e-9 < found < 1.0
    assert which == 2


def test_a_look_without_new_information_changes_nothing() -> None:
    assert sequential_p((0.5, 1.0, 1.0), [0.5, 0.03, 1e-9]) == sequential_p((0.5, 1.0), [0.5, 0.03])
    assert nominal((0.5, 1.0, 1.0), 0.05) == [*nominal((0.5, 1.0), 0.05), 0.0]


def _paths(studies: int, claims: int, most: int, effect: float = 0.0) -> np.ndarray:
    """The p-values of t-tests over 4 to `most` seeds, (studies, claims, looks)."""
    draws = effect + np.random.default_rng(11).standard_normal((studies, claims, most))
    found = []
    for n in range(4, most + 1):
        part = draws[..., :n]
        t = part.mean(-1) / part.std(-1, ddof=1) * math.sqrt(n)
        found.append(2 * scipy.stats.t.sf(np.abs(t), n - 1))
    return np.stack(found, -1)


def test_a_look_after_every_seed_keeps_the_level_over_few_seeds_and_several_claims() -> None:
    studies, claims, most = 12_000, 4, 12
    fractions = [fraction(n, most) for n in range(4, most + 1)]
    ps = _paths(studies, claims, most)
    # without effects, Holm errs where its first step does: Bonferroni's level
    wrong = (ps <= nominal(fractions, 0.05 / claims)).any((1, 2)).mean()
    assert 0.03 < wrong < 0.06  # at 0.054: these tests do not borrow any variance
    assert (ps <= 0.05 / claims).any((1, 2)).mean() > 0.1  # each look as if it were the only one
    # the same by Holm's adjusted sequential p-values
    few = [[sequential_p(fractions, claim)[0] for claim in study] for study in ps[:25]]
    first = (ps[:25] <= nominal(fractions, 0.05 / claims)).any((1, 2))
    assert [min(holm(each)) <= 0.05 for each in few] == first.tolist()


def test_an_effect_is_found_sooner_than_by_the_last_look() -> None:
    most = 12
    fractions = [fraction(n, most) for n in range(4, most + 1)]
    ps = _paths(4000, 1, most, effect=1.2)[:, 0]
    crossed = ps <= nominal(fractions, 0.05)
    used = np.where(crossed.any(1), 4 + crossed.argmax(1), most)
    assert crossed.any(1).mean() > (ps[:, -1] <= 0.05).mean() - 0.02
    assert used.mean() < 0.8 * most


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
