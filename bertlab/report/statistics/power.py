"""How many seeds a study needs, at the measured spread, to see an effect or to rule one out."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable

from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS
from bertlab.report.statistics.summary import LEVEL
from bertlab.report.statistics.variance import VarianceComponents

POWER = 0.8
"""The wanted chance of a verdict."""
FEWEST = 3
"""Seeds of a spread to plan with: the 95 % interval of a spread of two seeds spans a factor of 70."""
MOST = 10_000
"""More seeds than anybody trains."""


def power(effect: float, spread: VarianceComponents, n: int, level: float = LEVEL) -> float:
    """The chance that a two-sided test over `n` seeds sees a true `effect`, by a non-central t.

    The test is that of the interval; its statistic has the degrees of freedom of the summed variance.
    """
    from scipy.special import nctdtr

    freedom, error = spread.freedom(n), math.sqrt(spread.variance(n))
    shift, bound = abs(effect) / error, spread.confidence(0.0, n).quantile(0.5 + level / 2) / error
    return float(1 - nctdtr(freedom, shift, bound) + nctdtr(freedom, shift, -bound))


def equivalence_power(effect: float, margin: float, spread: VarianceComponents, n: int, level: float = LEVEL) -> float:
    """The chance that two one-sided tests over `n` seeds find a true `effect` to lie within `margin`.

    Assumes that the two tests do not fail together (Bonferroni), which gives slightly less than the true chance.
    """
    from scipy.special import nctdtr

    freedom, error = spread.freedom(n), math.sqrt(spread.variance(n))
    bound = spread.confidence(0.0, n).quantile(level) / error
    fails = [float(nctdtr(freedom, (margin + side * effect) / error, bound)) for side in (-1, 1)]
    return max(0.0, 1 - sum(fails))


def seeds_to_see(
    effect: float, spread: VarianceComponents | None, level: float = LEVEL, chance: float = POWER
) -> float | None:
    """The fewest seeds, at least `VERDICT_MIN_SEEDS`, that see a true `effect` with a `chance`.

    `math.inf` if no number does: the examples are too few, or the effect is 0. None if the spread comes from fewer
    than `FEWEST` seeds.
    """
    return _fewest(spread, chance, lambda known, n: power(effect, known, n, level))


def seeds_to_rule_out(
    margin: float, effect: float, spread: VarianceComponents | None, level: float = LEVEL, chance: float = POWER
) -> float | None:
    """The fewest seeds that find a true `effect` to lie within `margin`; `math.inf` and None as in `seeds_to_see`."""
    return _fewest(spread, chance, lambda known, n: equivalence_power(effect, margin, known, n, level))


def _fewest(
    spread: VarianceComponents | None, wanted: float, chance: Callable[[VarianceComponents, int], float]
) -> float | None:
    if spread is None or spread.n < FEWEST:
        return None
    candidates = range(VERDICT_MIN_SEEDS, MOST + 1)
    place = bisect_left(candidates, wanted, key=lambda n: chance(spread, n))
    return candidates[place] if place < len(candidates) else math.inf
