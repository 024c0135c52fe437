"""A row against another from their predictions: the effect, its interval and its tests, paired by seed and example.

Every seed judges the same examples, so the two are crossed: a seed's difference on an example is the effect, plus
what the seed, the example and the two together add. Both samples count: other seeds would have come out otherwise, and
so would other examples. Fine-tuning seeds are averaged before anything else.
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
"""Seeds from which on the multi-bootstrap judges alone. With fewer, its percentiles cover less than they promise: a few
seeds drawn from themselves do not show how far another might lie."""
VERDICT_MIN_SEEDS = 4
"""Seeds that a verdict takes: the fewest at which the interval is known to cover what it promises (by simulation in the
tests). Two or three may lie close by chance and make it too narrow, and none can tell."""

Runs = Mapping[int, Sequence[Metric]]
"""One measure for each fine-tuning seed, by pre-training seed; all on the same examples."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A row minus another on one measure, in its unit (points, or nats)."""

    mean: float
    """Over the seeds that both have."""
    n: int
    """Pre-training seeds that both have."""
    examples: int
    spread: VarianceComponents | None = None
    """None with one seed, and where nothing varies: a spread of nothing is no evidence of certainty. What follows from
    it is None then."""
    resample: Callable[[], Floats] | None = field(default=None, repr=False)
    """The draws of the multi-bootstrap, (B,)."""

    def moderated(self, typical: Typical | None) -> Effect:
        """The same, its spread estimated with what is typical of the study."""
        return self if self.spread is None else dataclasses.replace(self, spread=self.spread.moderated(typical))

    @cached_property
    def bootstrap(self) -> Confidence | None:
        """By the multi-bootstrap; drawn when it is asked for."""
        if self.spread is None or self.resample is None:
            return None
        error = math.sqrt(self.spread.variance(self.n))
        return Percentiles(np.sort(self.resample()), error, self.spread.freedom(self.n))

    @cached_property
    def confidence(self) -> Confidence | None:
        """What judges: the spread's two parts, from `BOOTSTRAP_MIN_SEEDS` seeds on the bootstrap."""
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
        sure = self.confidence
        return None if sure is None else max(sure.below(-margin), 1 - sure.below(margin))

    def beyond(self, margin: float) -> float | None:
        """The two-sided p-value of an effect within `margin`: small if it lies outside."""
        sure = self.confidence
        return None if sure is None else min(1.0, 2 * min(sure.below(margin), 1 - sure.below(-margin)))


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
    spread = measured(differences)
    return Effect(
        mean=float(differences.mean()),
        n=len(seeds),
        examples=sizes.pop(),
        spread=spread,
        resample=None if spread is None else partial(resampled, seeds, resamples, key),
    )
