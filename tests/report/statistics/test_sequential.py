"""Boundaries of repeated looks: published critical values, the spending function by hand, and errors by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from bertlab.report.statistics.sequential import boundary, fraction, nominal, sequential_p, spent
from bertlab.report.verdicts import holm

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
