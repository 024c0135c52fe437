"""The multi-bootstrap (Sellam et al. 2022): the reference that intervals and contributions are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from scipy.special import ndtr, stdtrit
from scipy.stats import spearmanr

from bertlab.report.statistics.effects import Effect
from bertlab.tasks.kinds.regression import Spearman
from bertlab.tasks.metrics import Grouped, Mean, Metric, MetricOfMeans

Seed = Sequence[Sequence[Metric]]
"""The fine-tuning seeds of two variants at one pre-training seed."""


@singledispatch
def weighted(metric: Metric, weights: np.ndarray) -> np.ndarray:
    """A metric with its examples repeated as whole numbers (B, E) say: (B,)."""
    raise NotImplementedError


@weighted.register
def _(metric: Mean, weights: np.ndarray) -> np.ndarray:
    return np.asarray(weights @ metric.scores / weights.sum(-1))


@weighted.register
def _(metric: MetricOfMeans, weights: np.ndarray) -> np.ndarray:
    return metric.function(weights @ metric.statistics / weights.sum(-1, keepdims=True))


@weighted.register
def _(metric: Grouped, weights: np.ndarray) -> np.ndarray:
    return weighted(metric.metric, weights[:, metric.group])


@weighted.register
def _(metric: Spearman, weights: np.ndarray) -> np.ndarray:
    examples = [np.repeat(np.arange(weights.shape[1]), row.astype(int)) for row in weights]
    return np.array([100 * spearmanr(metric.prediction[drawn], metric.label[drawn]).statistic for drawn in examples])


def drawn(resamples: int, size: int, key: int) -> np.ndarray:
    """How often each resample draws each of `size` items, (B, size): `size` draws with replacement."""
    return np.random.default_rng(key).multinomial(size, np.full(size, 1 / size), resamples)


def resampled(seeds: Sequence[Seed], resamples: int, key: int = 0) -> np.ndarray:
    """The difference of two variants in each resample, (B,): as many seeds, and as many examples, the same for both."""
    which, examples = drawn(resamples, len(seeds), 2 * key), drawn(resamples, seeds[0][0][0].examples, 2 * key + 1)
    sides = [[np.mean([weighted(run, examples) for run in side], axis=0) for side in seed] for seed in seeds]
    differences = np.stack([one - other for one, other in sides], -1)
    return np.asarray((which * differences).mean(-1))


def interval(effect: Effect, draws: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Expanded percentiles (Hesterberg 2015): the draws give the shape of the interval, the design its width.

    The variance of draws of n seeds is (n - 1) / n of the right one, and draws of seeds and examples count their
    interaction thrice (Owen 2007). So a quantile is the percentile that lies as many standard deviations of the draws
    from the mean as Student's quantile lies standard errors.
    """
    assert effect.spread is not None
    error, freedom = effect.spread.variance(effect.n) ** 0.5, effect.spread.freedom(effect.n)
    deviations = stdtrit(freedom, [0.5 - level / 2, 0.5 + level / 2]) * error / draws.std()
    low, high = np.quantile(draws, ndtr(deviations))
    return float(low), float(high)
