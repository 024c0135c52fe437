"""Means and spreads of the points of one variant. `effects.py` compares variants.

The unit of evidence is the pre-training seed. Fine-tuning seeds within a seed are averaged before anything else:
they show how precisely one pre-trained model is measured, not how much another pre-training differs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

LEVEL = 0.95
"""The confidence of every interval in a report."""

Points = Mapping[int, Sequence[float]]
"""Points of one variant on one measurement by pre-training seed, one for each fine-tuning seed; no seed is empty."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A variant on one measurement, in points."""

    mean: float
    """Over seeds, of the means over fine-tuning seeds."""
    median: float
    """Over all fine-tuning seeds of all seeds."""
    sd: float | None
    """Over the means of the seeds, or over the fine-tuning seeds of a single seed; None of a single run."""
    low: float
    """The lowest of the values that `sd` is computed from."""
    high: float
    seeds: int
    finetune_seeds: tuple[int, int]
    """Fewest and most fine-tuning seeds within a seed."""


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


def seed_means(points: Points) -> dict[int, float]:
    """The mean over the fine-tuning seeds of each pre-training seed, by seed in ascending order."""
    return {seed: fmean(points[seed]) for seed in sorted(points)}


def summarise(points: Points) -> Summary | None:
    """Mean, spread and n of a variant on a measurement, None if nothing is measured."""
    if not points:
        return None
    means, runs = list(seed_means(points).values()), list(points.values())
    spread = means if len(means) > 1 else runs[0]
    return Summary(
        mean=fmean(means),
        median=median(point for each in runs for point in each),
        sd=stdev(spread) if len(spread) > 1 else None,
        low=min(spread),
        high=max(spread),
        seeds=len(means),
        finetune_seeds=(min(map(len, runs)), max(map(len, runs))),
    )
