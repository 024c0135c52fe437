"""How many seeds a study needs, at the measured spread, to see an effect or to rule one out."""

import math
from bisect import bisect_left

import numpy as np

from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS
from bertlab.report.statistics.summary import LEVEL
from bertlab.report.statistics.variance import VarianceComponents

POWER = 0.8
"""The chance of a verdict that a plan aims at."""
FEWEST = 3
"""The fewest seeds of a spread to plan with: the 95 % interval of a spread of two seeds spans a factor of 70."""
MOST = 10_000
"""More seeds than anybody trains."""


def power(effect: float, margin: float | None, spread: VarianceComponents, n: int, level: float = LEVEL) -> float:
    """The chance of a verdict over `n` seeds, by a non-central t with the degrees of freedom of the summed variance.

    Without a margin, that a two-sided test sees a true `effect`; its critical value is that of the interval. With one,
    that two one-sided tests find the effect to lie within it, if the two do not fail together (Bonferroni), which gives
    slightly less than the true chance.
    """
    freedom, error, distribution = spread.freedom(n), math.sqrt(spread.variance(n)), spread.confidence(0.0, n)
    if margin is None:
        shift, bound = abs(effect) / error, distribution.quantile(0.5 + level / 2) / error
        return 1 - _noncentral_t(freedom, shift, bound) + _noncentral_t(freedom, shift, -bound)
    bound = distribution.quantile(level) / error
    return max(0.0, 1 - sum(_noncentral_t(freedom, (margin + side * effect) / error, bound) for side in (-1, 1)))


def _noncentral_t(freedom: float, shift: float, value: float) -> float:
    """The chance of a non-central t to lie below `value`."""
    from scipy.special import nctdtr

    return float(np.nan_to_num(nctdtr(freedom, shift, value)))  # scipy gives NaN for some chances below 1e-14


def seeds_needed(
    effect: float,
    margin: float | None,
    spread: VarianceComponents | None,
    level: float = LEVEL,
    chance: float = POWER,
) -> float | None:
    """The fewest seeds, at least `VERDICT_MIN_SEEDS`, with a `power` of at least `chance`.

    `math.inf` if no number has it: the examples are too few, or there is no such effect. None if the spread comes from
    fewer than `FEWEST` seeds.
    """
    if spread is None or spread.n < FEWEST:
        return None
    candidates = range(VERDICT_MIN_SEEDS, MOST + 1)
    place = bisect_left(candidates, chance, key=lambda n: power(effect, margin, spread, n, level))
    return candidates[place] if place < len(candidates) else math.inf
