"""What the measured points say of a row: means and spreads. `effects.py` compares rows.

The unit of evidence is the pre-training seed. Fine-tuning seeds within a seed are averaged before anything else:
they tell how well one pre-trained model was measured, not how another pre-training would have come out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

LEVEL = 0.95
"""The confidence of every interval in a report."""


@dataclass(frozen=True)
class Scores:
    """The points of one row on one measurement."""

    by_seed: Mapping[int, Sequence[float]]
    """Points by pre-training seed, one for each fine-tuning seed; no seed is empty."""

    def seed_means(self) -> dict[int, float]:
        """The mean over the fine-tuning seeds of each pre-training seed, by seed in ascending order."""
        return {seed: mean(self.by_seed[seed]) for seed in sorted(self.by_seed)}


@dataclass(frozen=True)
class Summary:
    """A row on one measurement in three numbers."""

    mean: float
    """Points: the mean over seeds of the means over fine-tuning seeds."""
    sd: float | None
    """Points: over seeds; over the fine-tuning seeds if there is one seed; None of a single run."""
    over: Literal["seeds", "fine-tuning seeds", "nothing"]
    """What `sd` is the spread of."""
    seeds: int
    finetune_seeds: tuple[int, int]
    """Fewest and most fine-tuning seeds within a seed."""
    low: float
    """Points: the least of what `sd` is the spread of."""
    high: float
    """Points: the most."""
    median: float
    """Points: over all fine-tuning seeds of all seeds."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval, in points."""

    low: float
    high: float

    @property
    def half(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2

    def covers(self, value: float) -> bool:
        """Whether `value` lies in it."""
        return self.low <= value <= self.high


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; `ValueError` of none."""
    if not values:
        raise ValueError("no values to average")
    return math.fsum(values) / len(values)


def deviation(values: Sequence[float]) -> float | None:
    """The sample standard deviation (n - 1), None of fewer than two values."""
    if len(values) < 2:
        return None
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def welch(row: Sequence[float], other: Sequence[float], level: float = LEVEL) -> Interval | None:
    """Welch's interval for the mean of `row` minus that of `other`, which are not paired and may vary differently.

    None with fewer than two values of either, and where nothing varies: that is no evidence of certainty.
    """
    # scipy.special loads in a fraction of the time of scipy.stats, whose `t.ppf` is this function
    from scipy.special import stdtrit

    one, two = deviation(row), deviation(other)
    if one is None or two is None or one + two == 0:
        return None
    ours, theirs = one**2 / len(row), two**2 / len(other)  # squared standard errors of the means
    freedom = (ours + theirs) ** 2 / (ours**2 / (len(row) - 1) + theirs**2 / (len(other) - 1))
    half = float(stdtrit(freedom, 0.5 + level / 2)) * math.sqrt(ours + theirs)
    return Interval(mean(row) - mean(other) - half, mean(row) - mean(other) + half)


def summarise(scores: Scores) -> Summary | None:
    """Mean, spread and n of a row on a measurement, None if nothing has been measured."""
    if not scores.by_seed:
        return None
    means = list(scores.seed_means().values())
    counts = [len(points) for points in scores.by_seed.values()]
    centre = mean(means)
    finetune_seeds = (min(counts), max(counts))
    middle = median([point for points in scores.by_seed.values() for point in points])
    if len(means) > 1:
        return Summary(centre, deviation(means), "seeds", len(means), finetune_seeds, min(means), max(means), middle)
    points = next(iter(scores.by_seed.values()))
    within = deviation(points)
    ends = (min(points), max(points))
    return Summary(
        centre, within, "nothing" if within is None else "fine-tuning seeds", 1, finetune_seeds, *ends, middle
    )


def separation(one: Summary, other: Summary) -> float | None:
    """How many standard deviations (root mean square of the two) apart the means lie; None without both."""
    if one.sd is None or other.sd is None:
        return None
    pooled = math.sqrt((one.sd**2 + other.sd**2) / 2)
    return abs(one.mean - other.mean) / pooled if pooled > 0 else None
