"""Means of a variant, and effects of one variant over another with intervals and tests paired by seed and example.

The unit of evidence is the pre-training seed; fine-tuning seeds are averaged first. Every seed predicts the same
examples, so the two are crossed: a seed's difference on an example is the effect plus the contributions of the seed,
of the example and of their interaction. Seeds and examples are both samples, and the variance counts both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean, median, stdev

import numpy as np

from bertlab.report.statistics.variance import BehrensFisher, Interval, Typical, VarianceComponents, measured
from bertlab.tasks.metrics import Metric

LEVEL = 0.95
"""The confidence of every interval in a report."""
VERDICT_MIN_SEEDS = 4
"""The fewest seeds at which the interval has its level (by simulation in the tests), and so the fewest of a verdict.
Two or three may lie close by chance, and the interval is then too narrow."""

Points = Mapping[int, Sequence[float]]
"""Points of one variant on one measurement by pre-training seed, one for each fine-tuning seed; no seed is empty."""
Runs = Mapping[int, Sequence[Metric]]
"""One metric for each fine-tuning seed, by pre-training seed; all on the same examples."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A variant on one measurement, in points."""

    mean: float
    """The mean over seeds of the means over fine-tuning seeds."""
    median: float
    """The median over all fine-tuning seeds of all seeds."""
    sd: float | None
    """The standard deviation over the means of seeds, or over the fine-tuning seeds of one seed; None for one run."""
    low: float
    """The lowest of the values that `sd` is computed from."""
    high: float
    seeds: int
    finetune_seeds: tuple[int, int]
    """Fewest and most fine-tuning seeds within a seed."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A variant minus another on one metric, in its unit: points, or nats of a loss."""

    mean: float
    """The mean over the seeds that both variants have."""
    n: int
    """The number of these pre-training seeds."""
    examples: int
    by_seed: Mapping[int, float] = field(default_factory=dict, compare=False, repr=False)
    """The difference at each of these seeds."""
    spread: VarianceComponents | None
    """None with one seed and where nothing varies, which is no evidence of certainty: there is no interval then."""
    largest: float = field(default=0.0, compare=False, repr=False)
    """The largest absolute value that was subtracted, whose rounding the differences have."""

    def moderated(self, typical: Typical | None, same_pair: Iterable[Effect | None] = ()) -> Effect:
        """The effect with a spread that borrows from the other comparisons of the study.

        `same_pair` are those of the same two variants.
        """
        spreads = [effect.spread for effect in same_pair if effect and effect.spread]
        return replace(self, spread=self.spread.moderated(typical, spreads)) if self.spread else self

    @property
    def seeds_alone(self) -> Effect:
        """The effect by a paired t over its seeds: nothing borrowed, and only these examples."""
        values = np.array([*self.by_seed.values()])
        return replace(self, spread=measured(values[:, None], self.largest) if len(values) else None)

    @cached_property
    def confidence(self) -> BehrensFisher | None:
        """The confidence distribution of verdicts."""
        return None if self.spread is None else self.spread.confidence(self.mean, self.n)

    @cached_property
    def interval(self) -> Interval | None:
        """The interval at `LEVEL`."""
        return None if self.confidence is None else self.confidence.interval(1 - LEVEL)

    @property
    def p(self) -> float | None:
        """The two-sided p-value of no effect."""
        return self.beyond(0.0, 0.0)

    def between(self, low: float, high: float) -> float | None:
        """The p-value of an effect that does not lie between: the larger of two one-sided tests, or that of one bound
        where the other is infinite."""
        confidence = self.confidence
        return None if confidence is None else max(confidence.below(low), 1 - confidence.below(high))

    def beyond(self, low: float, high: float) -> float | None:
        """The two-sided p-value of an effect that lies between."""
        confidence = self.confidence
        return None if confidence is None else min(1.0, 2 * min(confidence.below(high), 1 - confidence.below(low)))

    def p_of(self, margin: tuple[float, float] | None) -> float | None:
        """The p-value of no effect; with a margin, the smaller of lying within it and of lying beyond it."""
        if margin is None:
            return self.p
        inside, outside = self.between(*margin), self.beyond(*margin)
        return None if inside is None or outside is None else min(inside, outside)


def effect(variant: Runs, other: Runs, *than: Runs) -> Effect | None:
    """`variant` minus `other`, paired by seed and example; None if they have no seed in common.

    With two variants more, a contrast: that difference minus the difference of these, on the seeds that all four have.
    Its contributions are those of the four runs of a seed, added with their signs, so that its variance is estimated
    from the contrast itself, as that of a difference is. A run without predictions is a mean of one score. Raises
    `ValueError` for runs with different numbers of examples.
    """
    sides = (variant, other, *than)
    seeds = [seed for seed in sorted(variant) if all(seed in side for side in sides)]
    if not seeds:
        return None
    sizes = {run.examples for side in sides for seed in seeds for run in side[seed]}
    if len(sizes) > 1:
        raise ValueError(f"runs on {' and '.join(map(str, sorted(sizes)))} examples cannot be paired")
    # the contribution of each example at each seed, (S, E), by side
    means = ([np.mean([run.contributions() for run in side[seed]], axis=0) for seed in seeds] for side in sides)
    one, two, *rest = values = [*map(np.stack, means)]
    largest = float(np.abs(values).max())
    differences = one - two - (rest[0] - rest[1]) if rest else one - two
    return Effect(
        mean=float(differences.mean()),
        n=len(seeds),
        examples=sizes.pop(),
        by_seed=dict(zip(seeds, differences.mean(1).tolist(), strict=True)),
        spread=measured(differences, largest),
        largest=largest,
    )


def summarise(points: Points, *, of_seeds: bool = False) -> Summary | None:
    """Mean, spread and n of a variant on a measurement, None if nothing is measured.

    A single seed has the spread of its fine-tuning seeds; with `of_seeds` it has none.
    """
    if not points:
        return None
    means, runs = [fmean(points[seed]) for seed in sorted(points)], list(points.values())
    spread = means if len(means) > 1 or of_seeds else runs[0]
    return Summary(
        mean=fmean(means),
        median=median(value for values in runs for value in values),
        sd=stdev(spread) if len(spread) > 1 else None,
        low=min(spread),
        high=max(spread),
        seeds=len(means),
        finetune_seeds=(min(map(len, runs)), max(map(len, runs))),
    )
