"""Effects of one variant over another from their predictions, with intervals and tests paired by seed and example.

Every seed predicts the same examples, so the two are crossed: a seed's difference on an example is the effect plus the
contributions of the seed, of the example and of their interaction. Seeds and examples are both samples, and the
variance counts both. Fine-tuning seeds are averaged first.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from bertlab.report.statistics.confidence import Confidence, Percentiles, interval, two_sided
from bertlab.report.statistics.measures import averaged
from bertlab.report.statistics.multibootstrap import RESAMPLES, Seed, resampled
from bertlab.report.statistics.summary import Interval
from bertlab.report.statistics.variance import Typical, VarianceComponents, measured
from bertlab.tasks.metrics import Floats, Metric

BOOTSTRAP_MIN_SEEDS = 20
"""Seeds from which on the multi-bootstrap gives the interval. With fewer, its percentiles cover less than their level:
resamples of a few seeds do not show how far another may lie."""
VERDICT_MIN_SEEDS = 4
"""Seeds of a verdict at least: the fewest at which the interval has its level (by simulation in the tests). Two or
three may lie close by chance, and the interval is then too narrow."""

Runs = Mapping[int, Sequence[Metric]]
"""One metric for each fine-tuning seed, by pre-training seed; all on the same examples."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A variant minus another on one metric, in its unit (points, or nats)."""

    mean: float
    """Over the seeds that both have."""
    n: int
    """Pre-training seeds that both have."""
    examples: int
    spread: VarianceComponents | None = None
    """None with one seed, and where nothing varies, which is no evidence of certainty; there is no interval then."""
    resample: Callable[[], Floats] | None = field(default=None, repr=False)
    """The draws of the multi-bootstrap, (B,)."""

    def moderated(self, typical: Typical | None) -> Effect:
        """The same with a spread that borrows from the other comparisons of the study."""
        return self if self.spread is None else dataclasses.replace(self, spread=self.spread.moderated(typical))

    @cached_property
    def bootstrap(self) -> Confidence | None:
        """By the multi-bootstrap, drawn at the first use."""
        if self.spread is None or self.resample is None:
            return None
        error = math.sqrt(self.spread.variance(self.n))
        return Percentiles(np.sort(self.resample()), error, self.spread.freedom(self.n))

    @cached_property
    def confidence(self) -> Confidence | None:
        """By the two parts of the spread; from `BOOTSTRAP_MIN_SEEDS` seeds on by the bootstrap."""
        if self.n >= BOOTSTRAP_MIN_SEEDS:
            return self.bootstrap
        return None if self.spread is None else self.spread.confidence(self.mean, self.n)

    @cached_property
    def interval(self) -> Interval | None:
        """The interval at `LEVEL`."""
        return interval(self.confidence)

    @property
    def p(self) -> float | None:
        """Two-sided, of no effect."""
        return None if self.confidence is None else two_sided(self.confidence, 0.0)

    def equivalence(self, margin: float) -> float | None:
        """The p-value of an effect of `margin` or more either way: the larger of two one-sided tests."""
        known = self.confidence
        return None if known is None else max(known.below(-margin), 1 - known.below(margin))

    def beyond(self, margin: float) -> float | None:
        """The two-sided p-value of an effect within `margin`: small if it lies outside."""
        known = self.confidence
        return None if known is None else min(1.0, 2 * min(known.below(margin), 1 - known.below(-margin)))


def effect(variant: Runs, other: Runs, *, key: int = 0, resamples: int = RESAMPLES) -> Effect | None:
    """`variant` minus `other`, paired by seed and example; None if they have no seed in common.

    A run without predictions is a mean of one score. `key` draws the multi-bootstrap. `ValueError` if the runs have
    different numbers of examples.
    """
    seeds: list[Seed] = [(variant[seed], other[seed]) for seed in sorted(variant) if seed in other]
    if not seeds:
        return None
    sizes = {each.examples for one, two in seeds for each in (*one, *two)}
    if len(sizes) > 1:
        raise ValueError(f"runs on {' and '.join(map(str, sorted(sizes)))} examples cannot be paired")
    differences = np.stack([averaged(one) - averaged(two) for one, two in seeds])  # (S, E)
    spread = measured(differences)
    return Effect(
        mean=float(differences.mean()),
        n=len(seeds),
        examples=sizes.pop(),
        spread=spread,
        resample=None if spread is None else partial(resampled, seeds, resamples, key),
    )
