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
    # Smyth's model: the variances are inverse chi-squares of the prior degrees of freedom, estimated with n - 1 each.
    rng = np.random.default_rng(0)
    true = prior / rng.chisquare(prior, 20_000)
    found = Typical.of([spread(each) for each in true * rng.chisquare(3, 20_000) / 3])
    assert found is not None
    assert found.freedom == pytest.approx(prior, rel=0.1)
    assert found.comparisons == 20_000


def test_seeds_that_scatter_by_chance_alone_are_taken_to_be_alike() -> None:
    alike = Typical.of([spread(1.0)] * 3)
    assert alike == Typical(1.0, math.inf, 3)
    found = spread(0.25).moderated(alike)
    assert found.borrowed == MOST_BORROWED
    assert found.between == pytest.approx((0.25 + 2 * 1.0) / 3)
    assert found.components(4)[0].freedom == 9
    assert found.sampling == spread(0.25).sampling


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
    assert other.ratio == pytest.approx(one.ratio)
    assert spread(0.5, unit=1e-4).moderated(other).between == pytest.approx(1e-4 * spread(0.5).moderated(one).between)


def test_what_cannot_be_compared_stays_as_it_is() -> None:
    alone = VarianceComponents(n=4, examples=1, between=2.0, sampling=0.0)
    assert Typical.of([spread(1.0), alone, None]) is None, "one comparison has nobody to borrow from"
    assert Typical.of([spread(0.0), spread(0.0)]) is None
    two = Typical.of([spread(1.0), spread(1.0)])
    assert alone.moderated(two) == alone
    assert spread(1.0).moderated(None) == spread(1.0)
    assert spread(1.0).moderated(two).borrowed == 1, "the one other has no more than its own"
