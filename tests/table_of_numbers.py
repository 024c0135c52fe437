"""Anyone's numbers."""

import numpy as np
import pandas


def numbers(seeds=6, **better):
    """A table of a baseline and of variants that are better by so much."""
    rng = np.random.default_rng(0)
    lines = [
        {"variant": name, "seed": seed, "value": 10 + by + 0.5 * rng.standard_normal()}
        for name, by in {"base": 0.0, **better}.items()
        for seed in range(seeds)
    ]
    return pandas.DataFrame(lines)
