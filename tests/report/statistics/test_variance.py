"""What the comparisons of a study say together of how much its seeds differ."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bertlab.report.statistics.variance import MOST_BORROWED, Typical, VarianceComponents


def spread(ratio: float, n: int = 4, unit: float = 1.0) -> VarianceComponents:
    """A spread whose seeds differ by so much more than seeds that are alike."""
    return VarianceComponents(n=n, examples=1000, between=ratio * unit, sampling=0.1 * unit, interaction=unit)


@pytest.mark.parametrize("prior", [4.0, 12.0])
def test_degrees_of_freedom_are_those_that_variances_were_drawn_with(prior: float) -> None:
    # Smyth's model: the variances are inverse chi-squares of the prior degrees of freedom; here with one baseline.
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        true, seeds = prior / rng.chisquare(prior, 200), rng.standard_normal((201, 4))
        typical = Typical.of([spread(each) for each in true * (seeds[1:] - seeds[:1]).var(1, ddof=1) / 2])
        assert typical is not None
        found.append(1 / typical.freedom)
    assert 0.7 * prior < 1 / np.mean(found) < prior, "rather too few, which lends less"


def test_seeds_that_scatter_by_chance_alone_are_taken_to_be_alike() -> None:
    others = [spread(0.9), spread(1.0), spread(1.1)]
    alike = Typical.of(others)
    assert alike == Typical(tuple(others), math.inf)
    found = spread(0.25).moderated(alike)
    assert found.between == pytest.approx((0.25 + MOST_BORROWED * 1.0) / (1 + MOST_BORROWED))
    assert found.sampling == spread(0.25).sampling


def test_a_comparison_borrows_from_the_others_alone() -> None:
    both = Typical.of([spread(1.0), spread(3.0)])
    for own, other in ((1.0, 3.0), (3.0, 1.0)):
        assert spread(own).moderated(both).between == pytest.approx((own + other) / 2)


@pytest.mark.parametrize(("variants", "n"), [(2, 4), (3, 4), (5, 4), (12, 4), (3, 8)])
def test_degrees_of_freedom_are_those_of_the_mean_of_comparisons_with_one_baseline(variants: int, n: int) -> None:
    # a variance with f degrees of freedom scatters by 2 / f of its square
    rng, found = np.random.default_rng(0), []
    seeds = rng.standard_normal((4000, variants + 1, n))
    for each in (seeds[:, 1:] - seeds[:, :1]).var(2, ddof=1) / 2:
        known = tuple(spread(one, n) for one in each)
        found.append(known[0].moderated(Typical(known, math.inf)))
    between = np.array([each.between for each in found])
    assert between.mean() == pytest.approx(1, rel=0.02)
    assert found[0].components(n)[0].freedom == pytest.approx(2 / between.var(), rel=0.1)


def test_a_comparison_with_fewer_seeds_lends_less() -> None:
    two, eight = (spread(1.0).moderated(Typical((spread(2.0, n),), math.inf)) for n in (2, 8))
    assert two.between == pytest.approx(1.25), "a third of the degrees of freedom of four seeds"
    assert eight.between == pytest.approx(1 + MOST_BORROWED / (1 + MOST_BORROWED))
    assert 0 < two.borrowed < eight.borrowed


def test_seeds_that_scatter_more_are_left_nearer_to_their_own() -> None:
    typical = Typical.of([spread(each) for each in (0.01, 100.0, 0.02, 50.0)])
    assert typical is not None
    assert typical.freedom < 1
    assert spread(100.0).moderated(typical).between > 70


def test_units_do_not_matter() -> None:
    ratios = [0.5, 2.0, 1.0]
    one = Typical.of([spread(each) for each in ratios])
    other = Typical.of([spread(each, unit=unit) for each, unit in zip(ratios, (1e-4, 1.0, 1e5), strict=True)])
    assert one is not None
    assert other is not None
    assert spread(0.5, unit=1e-4).moderated(other).between == pytest.approx(1e-4 * spread(0.5).moderated(one).between)


def test_what_cannot_be_compared_stays_as_it_is() -> None:
    alone = VarianceComponents(n=4, examples=1, between=2.0, sampling=0.0)
    assert Typical.of([spread(1.0), alone, None]) is None, "one comparison has nobody to borrow from"
    assert Typical.of([spread(0.0), spread(0.0)]) is None
    two = Typical.of([spread(1.0), spread(1.5)])
    assert alone.moderated(two) == alone
    assert spread(1.0).moderated(None) == spread(1.0)
