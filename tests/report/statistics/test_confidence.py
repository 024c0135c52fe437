"""The distribution of Behrens and Fisher: Student's t where there is one part, and a sum of two by drawing them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from bertlab.report.statistics.variance import BehrensFisher, Component

NOTHING = Component(0.0, 50.0)


@pytest.mark.parametrize("freedom", [1.0, 3.0, 9.5, 200.0])
@pytest.mark.parametrize("turned", [False, True])
def test_one_part_alone_is_student(freedom: float, turned: bool) -> None:
    parts = (Component(1.7, freedom), NOTHING)
    found = BehrensFisher(0.3, *(parts[::-1] if turned else parts))
    for share in (1e-6, 0.0021, 0.025, 0.4, 0.5, 0.975):
        value = scipy.stats.t.ppf(share, freedom, loc=0.3, scale=math.sqrt(1.7))
        assert found.below(value) == pytest.approx(share, rel=1e-6)
        assert found.quantile(share) == pytest.approx(value, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("one", "two"), [((1.0, 3.0), (0.5, 40.0)), ((0.2, 3.0), (1.0, 4.0)), ((1.0, 9.0), (1.0, 5000))]
)
def test_two_parts_are_the_sum_of_two_students(one: tuple[float, float], two: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    draws = np.sort(sum(math.sqrt(size) * rng.standard_t(freedom, 400_000) for size, freedom in (one, two)))
    found = BehrensFisher(0.0, Component(*one), Component(*two))
    for share in (0.002, 0.025, 0.2, 0.9):
        assert np.searchsorted(draws, found.quantile(share)) / len(draws) == pytest.approx(share, rel=0.12)


def test_it_lies_about_its_mean() -> None:
    found = BehrensFisher(1.5, Component(0.4, 3.0), Component(0.1, 30.0))
    assert found.below(1.5) == pytest.approx(0.5)
    assert found.below(1.0) == pytest.approx(1 - found.below(2.0))
    assert (found.quantile(0.025) + found.quantile(0.975)) / 2 == pytest.approx(1.5)


def test_a_small_part_by_chance_does_not_make_it_narrow() -> None:
    # Satterthwaite gives 66 degrees of freedom here, a critical value of 2.97 errors at 12 claims and 5 %.
    found = BehrensFisher(0.0, Component(0.25, 3.0), Component(1.0, 999.0))
    assert -found.quantile(0.05 / 24) / math.sqrt(1.25) > 3.4
