"""The level and the power of the looks that are still to come: whether more seeds may decide a claim."""

import math

from bertlab.lab.claim import Margin
from bertlab.report.looks import LookHistory
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS, Effect
from bertlab.report.statistics.sequential import fraction, nominal

DEFAULT_MAXIMUM = 12
"""Seeds of a claim at most, without a budget: an effect of 0.9 standard deviations of a seed's difference is found in
four of five studies."""
LARGEST_MAXIMUM = 48
"""Seeds of a claim at most, with any budget. A larger maximum makes early looks stricter."""


def final_level(history: LookHistory, n: int, error: float) -> float:
    """The nominal level of a look at the maximum, if there is one after each seed from `n` on."""
    before = [look.n for look in history.looks if look.n < n]
    ns = [*before, *range(max(n, VERDICT_MIN_SEEDS), history.maximum + 1)] or [history.maximum]
    return nominal([fraction(seeds, history.maximum) for seeds in ns], error)[-1]


def chance(effect: Effect, margin: Margin, maximum: int, level: float, true: float | None = None) -> float:
    """The conditional power: the chance of a verdict at `maximum` seeds by a test at `level`.

    Assumes that the coming seeds vary as those measured, around the measured mean or around `true`, whichever gives
    more. The examples stay the same.
    """
    from scipy.special import ndtr

    if effect.spread is None:
        return 1.0  # nothing is known yet
    n = effect.n
    if n >= maximum:
        return 0.0
    confidence = effect.spread.confidence(0.0, maximum)
    deviation = max(1e-12, math.sqrt(effect.spread.between * (maximum - n)) / maximum)

    def reached(mean: float) -> float:
        if margin is None:
            return float(ndtr((abs(mean) - confidence.quantile(1 - level / 2)) / deviation))
        low, high = margin
        inside = float(ndtr((min(mean - low, high - mean) - confidence.quantile(1 - level)) / deviation))
        return inside + float(ndtr((max(low - mean, mean - high) - confidence.quantile(1 - level / 2)) / deviation))

    means = [effect.mean] if true is None else [effect.mean, (n * effect.mean + (maximum - n) * true) / maximum]
    return min(1.0, max(map(reached, means)))
