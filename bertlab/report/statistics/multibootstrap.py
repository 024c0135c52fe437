"""The multi-bootstrap of Sellam et al. 2022, paired: resamples pre-training seeds and examples for both variants alike.

A resample draws as many seeds as there are, and as many examples, with replacement, and measures both variants on the
same seeds and examples; fine-tuning seeds are averaged first. Draws are keyed: the same data give the same interval on
every machine.
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
"""Weights that are converted to floats at a time: 32 MiB."""

Counts = npt.NDArray[np.uint8]
Seed = tuple[Sequence[Metric], Sequence[Metric]]
"""The fine-tuning seeds of two variants at one pre-training seed."""


def resampled(seeds: Sequence[Seed], resamples: int = RESAMPLES, key: int = 0) -> Floats:
    """The difference of two variants in each resample, (B,)."""
    examples = seeds[0][0][0].examples
    which, weights = drawn(resamples, len(seeds), key), drawn(resamples, examples, ~key)
    blocks = np.array_split(weights, max(1, weights.size // BLOCK))
    differences = np.concatenate([_differences(seeds, block.astype(np.float64)) for block in blocks])
    return np.asarray((which * differences).mean(-1))


@lru_cache(maxsize=4)
def drawn(resamples: int, size: int, key: int) -> Counts:
    """How often each resample draws each of `size` items, (B, size): `size` draws with replacement."""
    purpose = keyed.key("multi-bootstrap", key)
    numbers = np.arange(resamples)[:, None]
    draws = keyed.integers(size, purpose, numbers, np.arange(size)[None])
    counts = np.bincount((draws + numbers * size).ravel(), minlength=resamples * size)
    # A byte is enough: an item is drawn once on average, and at most `size` times.
    return counts.reshape(resamples, size).astype(np.uint8)


def _differences(seeds: Sequence[Seed], weights: Floats) -> Floats:
    """The difference of two variants at each seed under weights (B, E) on the examples: (B, S)."""
    if all(isinstance(metric, Mean) for seed in seeds for side in seed for metric in side):
        means = np.stack([averaged(one) - averaged(other) for one, other in seeds], -1)  # (E, S)
        return np.asarray(weights @ means / weights.sum(-1, keepdims=True))  # a mean of means is one
    values = [
        [np.mean([metric.weighted(weights) for metric in side], axis=0) for side in seed] for seed in seeds
    ]  # (S, 2) of (B,)
    return np.stack([one - other for one, other in values], -1)
