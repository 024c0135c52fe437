"""A row against another from their predictions: the effect, its interval and its tests, paired by seed and example.

Every seed judges the same examples, so the two are crossed: a seed's difference on an example is the effect, plus
what the seed, the example and the two together add. Both samples count: other seeds would have come out otherwise, and
so would other examples. Restarts are averaged before anything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from bertlab.report.statistics.measures import Floats, Measure, averaged
from bertlab.report.statistics.multibootstrap import RESAMPLES, Seed, resampled
from bertlab.report.statistics.summary import LEVEL, Interval

MANY = 20
"""Seeds from which on the multi-bootstrap judges alone. With fewer, its percentiles cover less than they promise: a few
seeds drawn from themselves do not show how far another might lie."""
FLOOR = 4
"""Seeds that a verdict takes: the fewest at which the interval is known to cover what it promises (by simulation in the
tests). Two or three may lie close by chance and make it too narrow, and none can tell."""

Runs = Mapping[int, Sequence[Measure]]
"""One measure for each restart, by pre-training seed; all on the same examples."""


@dataclass(frozen=True)
class Spread:
    """The variance of a mean difference by where it comes from, in squared units of the measure.

    With the mean squares of the seeds (A), the examples (B) and the two together (R) of S x E differences, the variance
    of their mean is (A + B - R) / SE: seed noise / S + example noise / E + interaction / SE, of which A / SE and B / SE
    both hold the last. So the examples add (B - R) / SE to what the seeds show.
    """

    n: int
    """S: seeds that it was measured on."""
    examples: int
    """E"""
    between: float
    """Of one seed's difference on these examples: A / E."""
    sampling: float
    """What other examples would add, for any number of seeds: (B - R) / SE, not below 0."""

    def variance(self, n: int) -> float:
        """Of the mean over `n` seeds."""
        return self.between / n + self.sampling

    def freedom(self, n: int) -> float:
        """Degrees of freedom of the variance for `n` seeds, by Satterthwaite's formula.

        Those of the seeds alone, n - 1, would make the interval far too wide where nearly all of the spread is the
        examples', which is known from hundreds; those of the examples far too narrow where it is the seeds'. His are
        the freedom of the chi-square that varies as the sum does, and lie between.
        """
        seeds, examples = self.between / n, self.sampling
        return (seeds + examples) ** 2 / (seeds**2 / (n - 1) + examples**2 / max(1, self.examples - 1))


class Confidence(Protocol):
    """A confidence distribution: all intervals and one-sided tests of an effect at once."""

    def below(self, value: float) -> float:
        """The p-value of the effect not lying above `value`: small if it does."""

    def quantile(self, share: float) -> float:
        """The value with `below` of `share`."""


@dataclass(frozen=True)
class Student:
    """Student's t about the mean."""

    mean: float
    error: float
    """Standard error of the mean."""
    freedom: float

    def below(self, value: float) -> float:
        """The p-value of the effect not lying above `value`."""
        from scipy.special import stdtr

        return float(stdtr(self.freedom, (value - self.mean) / self.error))

    def quantile(self, share: float) -> float:
        """The value with `below` of `share`."""
        from scipy.special import stdtrit

        return self.mean + self.error * float(stdtrit(self.freedom, share))


@dataclass(frozen=True, eq=False)
class Percentiles:
    """Expanded percentiles of bootstrap draws (Hesterberg 2015): the shape is theirs, the width the design's.

    Draws of n seeds spread by (n - 1) / n too little, draws of seeds and examples count what the two add together
    thrice (Owen 2007), and normal percentiles stand where Student's belong. So the percentile that is read is the one
    that lies as many standard deviations of the draws off as Student's lies standard errors.
    """

    draws: Floats = field(repr=False)
    """(B,), ascending"""
    error: float
    """Standard error of the mean by the design."""
    freedom: float

    def below(self, value: float) -> float:
        """The p-value of the effect not lying above `value`. Beyond all draws the tail is Student's."""
        from scipy.special import ndtri, stdtr

        spread, edge = float(self.draws.std()), 0.5 / len(self.draws)
        beside = np.searchsorted(self.draws, value, "left") + np.searchsorted(self.draws, value, "right")
        deviations = float(ndtri(min(max(float(beside) * edge, edge), 1 - edge)))
        if beside in (0, 2 * len(self.draws)):
            beyond = (value - float(self.draws.mean())) / spread
            deviations = min(deviations, beyond) if beside == 0 else max(deviations, beyond)
        return float(stdtr(self.freedom, deviations * spread / self.error))

    def quantile(self, share: float) -> float:
        """The value with `below` of `share`."""
        from scipy.special import ndtr, stdtrit

        deviations = float(stdtrit(self.freedom, share)) * self.error / float(self.draws.std())
        return float(np.quantile(self.draws, ndtr(deviations)))


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A row minus another on one measure, in its unit (points, or nats)."""

    mean: float
    """Over the seeds that both have."""
    n: int
    """Pre-training seeds that both have."""
    examples: int
    spread: Spread | None = None
    """None with one seed, and where nothing varies: a spread of nothing is no evidence of certainty."""
    student: Student | None = field(default=None, repr=False)
    """None without a spread, like all that follows from it."""
    resample: Callable[[], Floats] | None = field(default=None, repr=False)
    """The draws of the multi-bootstrap, (B,)."""

    @cached_property
    def bootstrap(self) -> Confidence | None:
        """By the multi-bootstrap; drawn when it is asked for."""
        if self.student is None or self.resample is None:
            return None
        return Percentiles(np.sort(self.resample()), self.student.error, self.student.freedom)

    @property
    def confidence(self) -> Confidence | None:
        """What judges: Student's t, from `MANY` seeds on the bootstrap."""
        return self.student if self.n < MANY else self.bootstrap

    @property
    def interval(self) -> Interval | None:
        """The interval at `LEVEL`."""
        return interval(self.confidence)

    @property
    def p(self) -> float | None:
        """Two-sided, of no effect."""
        return None if self.confidence is None else two_sided(self.confidence, 0.0)

    def equivalence(self, margin: float) -> float | None:
        """The p-value of an effect of `margin` or more either way: the larger of two one-sided tests."""
        sure = self.confidence
        return None if sure is None else max(sure.below(-margin), 1 - sure.below(margin))

    def beyond(self, margin: float) -> float | None:
        """The two-sided p-value of an effect within `margin`: small if it lies outside."""
        sure = self.confidence
        return None if sure is None else min(1.0, 2 * min(sure.below(margin), 1 - sure.below(-margin)))


def interval(confidence: Confidence | None, level: float = LEVEL) -> Interval | None:
    """The central interval of a confidence distribution."""
    if confidence is None:
        return None
    return Interval(confidence.quantile(0.5 - level / 2), confidence.quantile(0.5 + level / 2))


def two_sided(confidence: Confidence, value: float) -> float:
    """The two-sided p-value of the effect being `value`."""
    low = confidence.below(value)
    return min(1.0, 2 * min(low, 1 - low))


def effect(row: Runs, other: Runs, *, key: int = 0, resamples: int = RESAMPLES) -> Effect | None:
    """`row` minus `other`, paired by seed and example; None if they have no seed in common.

    A run of which the value alone is known is a mean of one score. The multi-bootstrap draws by `key`. `ValueError` if
    the runs are not on the same number of examples.
    """
    seeds: list[Seed] = [(row[seed], other[seed]) for seed in sorted(row) if seed in other]
    if not seeds:
        return None
    sizes = {each.examples for one, two in seeds for each in (*one, *two)}
    if len(sizes) > 1:
        raise ValueError(f"runs on {' and '.join(map(str, sorted(sizes)))} examples cannot be paired")
    differences = np.stack([averaged(one) - averaged(two) for one, two in seeds])  # (S, E)
    mean, n, examples = float(differences.mean()), len(seeds), sizes.pop()
    spread = measured(differences)
    if spread is None:
        return Effect(mean=mean, n=n, examples=examples)
    return Effect(
        mean=mean,
        n=n,
        examples=examples,
        spread=spread,
        student=Student(mean, math.sqrt(spread.variance(n)), spread.freedom(n)),
        resample=partial(resampled, seeds, resamples, key),
    )


def measured(differences: Floats) -> Spread | None:
    """The spread of differences (S, E); None of one seed, and of differences that are all the same."""
    n, examples = differences.shape
    if n < 2:
        return None
    mean = differences.mean()
    of_seeds, of_examples = differences.mean(1, keepdims=True), differences.mean(0)
    between = float(((of_seeds - mean) ** 2).sum()) / (n - 1)
    sampling = 0.0
    if examples > 1:
        # Both mean squares over S, so that their difference over E is (B - R) / SE.
        own = float(((of_examples - mean) ** 2).sum()) / (examples - 1)
        rest = float(((differences - of_seeds - of_examples + mean) ** 2).sum()) / ((n - 1) * (examples - 1) * n)
        sampling = max(0.0, own - rest) / examples
    spread = Spread(n, examples, between, sampling)
    # What rounding leaves of differences that are all the same is not a spread.
    return spread if spread.variance(n) > (1e-12 * float(np.abs(differences).max())) ** 2 else None
