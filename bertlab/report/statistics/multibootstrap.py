"""The multi-bootstrap of Sellam et al. 2022: pre-training seeds and examples are both drawn anew, for both rows alike.

A resample draws as many seeds as there are, and as many examples, with replacement; within it both rows are measured
on the same seeds and examples (its paired design), fine-tuning seeds averaged first. Draws are keyed: the same data
give the same interval, anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from bertlab import keyed
from bertlab.report.statistics.measures import averaged
from bertlab.tasks.metrics import Floats, Mean, Metric

RESAMPLES = 1000
BLOCK = 2**22
"""Weights that are made into floats at a time: 32 MiB."""

Counts = npt.NDArray[np.uint8]
Seed = tuple[Sequence[Metric], Sequence[Metric]]
"""The fine-tuning seeds of a row and those of the other at one pre-training seed."""


def resampled(seeds: Sequence[Seed], resamples: int = RESAMPLES, key: int = 0) -> Floats:
    """The difference of two rows in each resample, (B,)."""
    examples = seeds[0][0][0].examples
    which, weights = drawn(resamples, len(seeds), key), drawn(resamples, examples, ~key)
    blocks = np.array_split(weights, max(1, weights.size // BLOCK))
    differences = np.concatenate([_differences(seeds, block.astype(np.float64)) for block in blocks])
    return np.asarray((which * differences).mean(-1))


@lru_cache(maxsize=4)
def drawn(resamples: int, size: int, key: int) -> Counts:
    """How often each of `size` things is drawn in each resample, (B, size): `size` draws with replacement."""
    purpose = keyed.key("multi-bootstrap", key)
    rows = np.arange(resamples)[:, None]
    draws = keyed.integers(size, purpose, rows, np.arange(size)[None])
    counts = np.bincount((draws + rows * size).ravel(), minlength=resamples * size)
    # A byte is enough: a thing is drawn once on average, and of few never more often than there are things.
    return counts.reshape(resamples, size).astype(np.uint8)


def _differences(seeds: Sequence[Seed], weights: Floats) -> Floats:
    """The difference of the two rows at each seed under weights (B, E) on the examples: (B, S)."""
    rows = [[*one, *other] for one, other in seeds]
    if all(isinstance(measure, Mean) for row in rows for measure in row):
        means = np.stack(
            [averaged(one) - averaged(other) for one, other in seeds], -1
        )  # (E, S): a mean of means is one
        return np.asarray(weights @ means / weights.sum(-1, keepdims=True))
    values = [
        np.mean([each.weighted(weights) for each in one], axis=0)
        - np.mean([each.weighted(weights) for each in other], axis=0)
        for one, other in seeds
    ]
    return np.stack(values, -1)
