"""Simulated numbers whose truth is known: of variants, and of the differences of studies at two scales."""

import itertools

import numpy as np
import pandas

from bertlab.hypotheses.ladder import COLUMNS


def differences(rng, studies, variants, correlation, tau=2.0, noise=1.0, measurements=2):
    """All pairs of each study at the scales micro and tiny.

    Differences of two variants have true effects with standard deviation `tau`, which correlate between the scales, and
    are measured with the standard error `noise`.
    """
    lines = []
    for study, measurement in itertools.product(range(studies), range(measurements)):
        true = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], variants) * tau / np.sqrt(2)
        values = true + rng.normal(0, noise / np.sqrt(2), true.shape)
        for (scale, cost), (one, two) in itertools.product(
            enumerate((1.0, 8.0)), itertools.combinations(range(variants), 2)
        ):
            name = ("micro", "tiny")[scale]
            rung = f"study {study}", name, "on a corpus", f"{study}-{name}", f"{name} on a corpus", 100, cost
            pair = f"M{measurement}", f"v{two}", f"v{one}", "metric", "accuracy"
            lines.append((*rung, *pair, values[two, scale] - values[one, scale], 4, noise**2, frozenset()))
    return pandas.DataFrame(lines, columns=COLUMNS)


def numbers(seeds=6, **better):
    """A table of a baseline and of variants that are better by so much."""
    rng = np.random.default_rng(0)
    lines = [
        {"variant": name, "seed": seed, "value": 10 + by + 0.5 * rng.standard_normal()}
        for name, by in {"base": 0.0, **better}.items()
        for seed in range(seeds)
    ]
    return pandas.DataFrame(lines)
