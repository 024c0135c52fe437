"""Where the spread of a measurement comes from.

A value of a run is a mean over examples, and every run predicts the same ones. So the contribution of example e to the
run with pre-training seed s and fine-tuning seed r is a sum of random effects: of s, of r within s, of e, and of e with
each of the two. The estimates are unbiased by the method of moments (unweighted means, Searle et al. 1992, chapter 4):
runs may be missing. Variants are pooled, each around its own mean.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from bertlab.arrays import Float

Contributions = Mapping[int, Mapping[int, Float]]
"""Contributions of each example, (E,), to a variant or a difference of two, by pre-training and fine-tuning seed."""


@dataclass(frozen=True, kw_only=True)
class Components:
    """The variances of the random effects, in squared units of the metric; an unbiased estimate may be below 0."""

    seed: float
    """The variance by pre-training seeds; with one fine-tuning seed each, by both kinds of seeds together."""
    finetune: float
    """The variance by fine-tuning seeds within a pre-training seed; 0 if there is one."""
    example: float
    seed_example: float
    """The variance by the interaction of pre-training seeds and examples."""
    finetune_example: float
    seeds: float
    """The pre-training seeds of a variant; the harmonic mean where variants differ."""
    finetune_seeds: float
    """The fine-tuning seeds within one, likewise; 1 if the two kinds of seeds cannot be told apart."""
    examples: int
    """1 if values are without predictions: the spread then holds for the examples of the runs."""

    @property
    def positive(self) -> Components:
        """The components with 0 in place of estimates below it."""
        names = ("seed", "finetune", "example", "seed_example", "finetune_example")
        return replace(self, **{name: max(0.0, getattr(self, name)) for name in names})

    @property
    def between(self) -> float:
        """The variance of one pre-training seed's mean over its fine-tuning seeds, on the same examples."""
        by_both = self.seed_example + self.finetune_example / self.finetune_seeds
        return self.seed + self.finetune / self.finetune_seeds + by_both / self.examples

    def variance(self, seeds: float, finetune_seeds: float, examples: float) -> float:
        """The variance of the mean over a design, for other seeds and other examples."""
        by_seed = self.seed + self.finetune / finetune_seeds
        by_both = self.seed_example + self.finetune_example / finetune_seeds
        return by_seed / seeds + (self.example + by_both / seeds) / examples

    @property
    def one_run(self) -> tuple[float, float, float]:
        """The variance of one run's value by pre-training seed, by fine-tuning seed and by examples."""
        parts = self.positive
        return parts.seed, parts.finetune, parts.variance(1, 1, self.examples) - parts.seed - parts.finetune


def components(variants: Iterable[Contributions]) -> Components | None:
    """The components that the variants share; None if none of them has two pre-training seeds.

    Raises `ValueError` for runs with different numbers of examples.
    """
    stacked = [[np.stack([*runs.values()]) for runs in variant.values() if runs] for variant in variants]
    stacked = [seeds for seeds in stacked if seeds]
    if not any(len(seeds) > 1 for seeds in stacked):
        return None
    sizes = {runs.shape[1] for seeds in stacked for runs in seeds}
    if len(sizes) > 1:
        raise ValueError(f"runs on {' and '.join(map(str, sorted(sizes)))} examples cannot be compared")
    examples = sizes.pop()
    values = [[runs.mean(1, keepdims=True) for runs in seeds] for seeds in stacked]
    rest = [[runs - mean for runs, mean in zip(*both, strict=True)] for both in zip(stacked, values, strict=True)]
    of_values, of_rest = _mean_squares(values), _mean_squares(rest)
    # the deviations of a run's examples from their mean have one degree of freedom less than there are examples
    freedom = max(1, examples - 1)
    between, within = of_rest[0] / freedom, of_rest[1] / freedom
    inverse_seeds, inverse_restarts = fmean(1 / len(seeds) for seeds in stacked), of_values[2]
    seed_example = between - inverse_restarts * within
    of_means = [np.mean([runs.mean(0) for runs in seeds], axis=0) for seeds in rest]
    of_examples = fmean(float((mean**2).sum()) / freedom for mean in of_means)
    inverse_runs = fmean(fmean(1 / len(runs) for runs in seeds) / len(seeds) for seeds in stacked)
    return Components(
        seed=of_values[0] - inverse_restarts * of_values[1] - seed_example / examples,
        finetune=of_values[1] - within / examples,
        example=of_examples - inverse_seeds * seed_example - inverse_runs * within,
        seed_example=seed_example,
        finetune_example=within,
        seeds=1 / inverse_seeds,
        finetune_seeds=1 / inverse_restarts,
        examples=examples,
    )


def _mean_squares(variants: Sequence[Sequence[Float]]) -> tuple[float, float, float]:
    """Pools values (R, K) by variant and seed: the variance of the seeds' means and that within seeds, sums over K.

    Each is pooled by its degrees of freedom. Then the mean of 1 / R with the weights of the first.
    """
    between = within = shares = 0.0
    between_freedom = within_freedom = 0
    for seeds in variants:
        means = np.stack([runs.mean(0) for runs in seeds])
        between += float(((means - means.mean(0)) ** 2).sum())
        between_freedom += len(seeds) - 1
        shares += (len(seeds) - 1) * fmean(1 / len(runs) for runs in seeds)
        for runs, mean in zip(seeds, means, strict=True) if len(seeds) > 1 else ():
            within += float(((runs - mean) ** 2).sum())
            within_freedom += len(runs) - 1
    return between / between_freedom, within / max(1, within_freedom), shares / between_freedom


def minus(one: Contributions, other: Contributions) -> Contributions:
    """The difference of two variants, on the pre-training and fine-tuning seeds that both have."""
    both = {seed: one[seed].keys() & other[seed].keys() for seed in one if seed in other}
    return {
        seed: {restart: one[seed][restart] - other[seed][restart] for restart in sorted(restarts)}
        for seed, restarts in both.items()
        if restarts
    }


@dataclass(frozen=True, kw_only=True)
class Noise:
    """The spread of one measurement over the variants of a study, in the unit of its metric."""

    run: Components
    """The components of the values of a variant."""
    signal: float | None
    """The standard deviation of the variants' means, without what seeds and examples add to it; 0 if they explain all
    of it, None with one variant."""

    @property
    def between(self) -> float:
        """The standard deviation between the means of pre-training seeds of a variant."""
        return math.sqrt(max(0.0, self.run.between))

    @property
    def ratio(self) -> float | None:
        """Signal to noise (Heineman et al. 2025): the spread between variants over that between seeds."""
        return None if self.signal is None or not self.between else self.signal / self.between

    @property
    def shares(self) -> tuple[float, float, float] | None:
        """The shares of pre-training seeds, fine-tuning seeds and examples in the variance of one run's value."""
        total = math.fsum(self.run.one_run)
        return None if not total else tuple(part / total for part in self.run.one_run)  # type: ignore[return-value]

    @property
    def sd(self) -> float:
        """The standard deviation of one run's value, for other seeds and other examples."""
        return math.sqrt(math.fsum(self.run.one_run))


def noise(variants: Sequence[Contributions]) -> Noise | None:
    """The spread of a measurement; None if no variant has two pre-training seeds.

    The variance of the variants' means is half the mean square of all differences between two. Subtracting the
    variance that seeds and examples give a difference, by its paired components in which what variants share cancels,
    leaves that of the variants.
    """
    run = components(variants)
    if run is None:
        return None
    runs = [values for variant in variants for by_restart in variant.values() for values in by_restart.values()]
    largest = max(float(np.abs(values).max()) for values in runs)
    if run.positive.variance(1, 1, run.examples) <= (1e-12 * largest) ** 2:  # rounding errors of equal values
        run = replace(run, seed=0.0, finetune=0.0, example=0.0, seed_example=0.0, finetune_example=0.0)
    pairs = [apart for pair in itertools.combinations(variants, 2) if (apart := minus(*pair))]
    difference, signal = components(pairs), None
    if difference is not None:
        means = [fmean(fmean(float(run.mean()) for run in runs.values()) for runs in pair.values()) for pair in pairs]
        design = difference.seeds, difference.finetune_seeds, difference.examples
        square = (fmean(mean**2 for mean in means) - difference.variance(*design)) / 2
        signal = math.sqrt(max(0.0, square))
    return Noise(run=run, signal=signal)
