"""The variance of a mean difference by where it comes from, and what the comparisons of a study say of it together."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bertlab.report.statistics.confidence import BehrensFisher, Component
from bertlab.tasks.metrics import Floats

MOST_BORROWED = 2.0
"""Degrees of freedom that the other comparisons of a study lend, at most, for each that a comparison has of its own."""


@dataclass(frozen=True)
class VarianceComponents:
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
    interaction: float = 0.0
    """What `between` would be if all seeds were alike: R / E; 0 where there is one example."""
    borrowed: float = 0.0
    """Degrees of freedom of `between` that other comparisons lent, for each of its own."""

    def variance(self, n: int) -> float:
        """Of the mean over `n` seeds."""
        return self.between / n + self.sampling

    def freedom(self, n: int) -> float:
        """Degrees of freedom of the variance for `n` seeds, by Satterthwaite's formula.

        Those of the seeds alone, n - 1, would make the interval far too wide where nearly all of the spread is the
        examples', which is known from hundreds; those of the examples far too narrow where it is the seeds'. His are
        the freedom of the chi-square that varies as the sum does, and lie between.
        """
        seeds, examples = self.components(n)
        return (seeds.variance + examples.variance) ** 2 / sum(
            each.variance**2 / each.freedom for each in (seeds, examples)
        )

    def components(self, n: int) -> tuple[Component, Component]:
        """The two parts of the variance for `n` seeds: the seeds' and the examples'."""
        seeds = Component(self.between / n, (n - 1) * (1 + self.borrowed))
        return seeds, Component(self.sampling, max(1, self.examples - 1))

    def confidence(self, mean: float, n: int) -> BehrensFisher:
        """What a mean over `n` seeds says of the effect."""
        return BehrensFisher(mean, *self.components(n))

    def moderated(self, typical: Typical | None) -> VarianceComponents:
        """The spread with `between` drawn to what is typical of the study, as far as that is known."""
        if typical is None or not self.interaction or self.n < 2:
            return self
        lent = min(typical.freedom / (self.n - 1), MOST_BORROWED, typical.comparisons - 1)
        between = (self.between + lent * typical.ratio * self.interaction) / (1 + lent)
        return dataclasses.replace(self, between=between, borrowed=lent)


@dataclass(frozen=True)
class Typical:
    """How much more the seeds of a study differ than seeds that are all alike would, by all its comparisons.

    An empirical-Bayes estimate as limma's (Smyth 2004): four seeds say little of their variance, a dozen comparisons
    say more, so each variance is drawn to their mean. By how much is read off how the ratios scatter: as chance alone
    would have it, and they are taken to be alike; more, and each is left nearer to its own. Variances are compared in
    units of the interaction, which is known well and has the measure's scale.
    """

    ratio: float
    """The mean of `between` / `interaction`."""
    freedom: float
    """Degrees of freedom that it is worth for a single comparison; infinite if the ratios scatter as chance has it."""
    comparisons: int

    @classmethod
    def of(cls, spreads: Iterable[VarianceComponents | None]) -> Typical | None:
        """Out of the comparisons of a study; None of fewer than two."""
        from scipy.special import digamma, polygamma

        known = [each for each in spreads if each is not None and each.interaction > 0]
        if len(known) < 2:
            return None
        ratios = np.array([each.between / each.interaction for each in known])
        if not ratios.any():
            return None
        half = np.array([each.n - 1 for each in known]) / 2
        logs = np.log(np.maximum(ratios, 1e-5 * np.median(ratios[ratios > 0]))) - digamma(half) + np.log(half)
        excess = float(logs.var(ddof=1) - polygamma(1, half).mean())
        freedom = 2 * _inverse_trigamma(excess) if excess > 0 else math.inf
        return cls(float(ratios.mean()), freedom, len(known))


def _inverse_trigamma(value: float) -> float:
    """Smyth's Newton iteration, which rises to the solution."""
    from scipy.special import polygamma

    guess = 0.5 + 1 / value
    for _ in range(50):
        found = float(polygamma(1, guess))
        step = found * (1 - found / value) / float(polygamma(2, guess))
        guess += step
        if abs(step) < 1e-9 * guess:
            break
    return guess


def measured(differences: Floats) -> VarianceComponents | None:
    """The spread of differences (S, E); None of one seed, and of differences that are all the same."""
    n, examples = differences.shape
    if n < 2:
        return None
    mean = differences.mean()
    of_seeds, of_examples = differences.mean(1, keepdims=True), differences.mean(0)
    between = float(((of_seeds - mean) ** 2).sum()) / (n - 1)
    sampling = rest = 0.0
    if examples > 1:
        # Both mean squares over S, so that their difference over E is (B - R) / SE.
        own = float(((of_examples - mean) ** 2).sum()) / (examples - 1)
        rest = float(((differences - of_seeds - of_examples + mean) ** 2).sum()) / ((n - 1) * (examples - 1) * n)
        sampling = max(0.0, own - rest) / examples
    spread = VarianceComponents(n, examples, between, sampling, rest * n / examples)
    # What rounding leaves of differences that are all the same is not a spread.
    return spread if spread.variance(n) > (1e-12 * float(np.abs(differences).max())) ** 2 else None
