"""The variance of a mean difference, estimated from all comparisons of a study, and the confidence that follows."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from bertlab.arrays import Float

NOISY = 1.5
"""How much more the seeds of a variant may vary than those of the others, in variance, if it is to borrow from them."""
LIGHTER = 1.4
"""What the larger of two estimates multiplies the degrees of freedom by that it gains: it is too large in the mean, so
that t has lighter tails. Chosen with `NOISY` by the simulated error rates and power of `benchmarks/verdicts.py`."""
SHARED = 0.25
"""The correlation of the estimates of two comparisons: their differences contain the same runs of the baseline, so they
correlate by a half, and their squares by the square of that."""


@dataclass(frozen=True)
class VarianceComponents:
    """The variance of a mean difference by source, in squared units of the metric.

    With the mean squares of the seeds (A), the examples (B) and their interaction (R) of S x E differences, the
    variance of their mean is (A + B - R) / SE: seed noise / S + example noise / E + interaction / SE. A / SE and B / SE
    both include the interaction, so the examples add (B - R) / SE to the seeds' A / SE.
    """

    n: int
    """S: the seeds of the estimate."""
    examples: int
    """E"""
    between: float
    """The variance of one seed's difference on these examples: A / E."""
    sampling: float
    """The variance by other examples, for any number of seeds: (B - R) / SE, not below 0."""
    interaction: float = 0.0
    """The value of `between` if seeds do not differ: R / E; 0 with one example."""
    borrowed: float = 0.0
    """Degrees of freedom that `between` gains from other comparisons, for each of its own."""
    by_seed: tuple[float, ...] = field(default=(), compare=False, repr=False)
    """How far each seed's difference lies above their mean; empty if that is not known."""

    def variance(self, n: int) -> float:
        """The variance of the mean over `n` seeds."""
        return self.between / n + self.sampling

    def freedom(self, n: int) -> float:
        """Degrees of freedom of the variance for `n` seeds, by Satterthwaite's formula.

        They lie between those of the seeds, n - 1, which make the interval far too wide where hundreds of examples
        cause nearly all of the spread, and those of the examples, which make it far too narrow where seeds do.
        """
        seeds, examples = self.components(n)
        parts = sum(component.variance**2 / component.freedom for component in (seeds, examples))
        return (seeds.variance + examples.variance) ** 2 / parts

    def components(self, n: int) -> tuple[Component, Component]:
        """The parts of the variance for `n` seeds: by the seeds and by the examples."""
        seeds = Component(self.between / n, (n - 1) * (1 + self.borrowed))
        return seeds, Component(self.sampling, max(1, self.examples - 1))

    def confidence(self, mean: float, n: int) -> BehrensFisher:
        """The confidence distribution of the effect with this `mean` over `n` seeds."""
        return BehrensFisher(mean, *self.components(n))

    def moderated(self, typical: Typical | None, same_pair: Sequence[VarianceComponents] = ()) -> VarianceComponents:
        """The spread with `between` raised to the mean of the study's other comparisons, and never lowered.

        `same_pair` are the comparisons of the same two variants. Where they vary more than `NOISY` times as much as
        those of other variants, nothing is borrowed. The degrees of freedom are those of a weighted mean of correlated
        estimates, by Satterthwaite's formula.
        """
        lenders = typical.lenders(self) if typical and self.interaction and self.n > 1 else ()
        if typical is None or not lenders:
            return self
        same = frozenset(same_pair)
        others = [lender for lender in lenders if lender not in same] or lenders
        if _mean_ratio([spread for spread in same_pair if spread.interaction] or [self]) > NOISY * _mean_ratio(others):
            return self
        estimates = sum(lender.n - 1 for lender in lenders) / (self.n - 1)  # the lenders, in estimates of as many seeds
        lent = min(typical.freedom / (self.n - 1), estimates)
        weight, rest = 1 / (1 + lent), lent / (1 + lent)
        share = sum(lender in same for lender in lenders) / len(lenders)
        with_lenders = share * typical.within + (1 - share) * SHARED
        of_mean = (1 + (len(lenders) - 1) * typical.correlation(self)) / estimates
        gained = 1 / (weight**2 + 2 * with_lenders * weight * rest + rest**2 * of_mean) - 1
        pooled = weight * self.between + rest * _mean_ratio(lenders) * self.interaction
        return dataclasses.replace(self, between=max(self.between, pooled), borrowed=LIGHTER * max(0.0, gained))

    @property
    def ratio(self) -> float:
        """How much more the seeds differ than chance explains."""
        return self.between / self.interaction


def _mean_ratio(spreads: Sequence[VarianceComponents]) -> float:
    """The mean ratio of spreads, weighted by their degrees of freedom."""
    return sum(spread.ratio * (spread.n - 1) for spread in spreads) / sum(spread.n - 1 for spread in spreads)


@dataclass(frozen=True)
class Typical:
    """How much more the seeds of a study differ than chance explains, over all its comparisons with the baseline.

    An empirical-Bayes estimate in the manner of limma (Smyth 2004): four seeds estimate a variance poorly and a dozen
    comparisons do better, so each variance is raised to the mean of the others. The scatter of the ratios gives the
    weight of the mean: if it is no larger than by chance, all variances count as equal; the larger it is, the nearer
    each stays to its own estimate. The unit is the interaction, which is known well and has the metric's scale.
    """

    variants: tuple[tuple[VarianceComponents, ...], ...]
    """The comparisons of each variant that have an interaction, one a measurement."""
    freedom: float
    """The weight of the mean in degrees of freedom; infinite if the ratios scatter as by chance."""
    within: float = SHARED
    """The correlation of the estimates of two comparisons of one variant: its runs may be good or bad on all tasks."""

    @classmethod
    def from_spreads(cls, variants: Iterable[Iterable[VarianceComponents | None]]) -> Typical | None:
        """The estimate from the comparisons of a study by variant; None for fewer than two."""
        from scipy.optimize import brentq
        from scipy.special import digamma, polygamma

        usable = tuple(
            tuple(spread for spread in variant if spread is not None and spread.interaction > 0) for variant in variants
        )
        spreads = [spread for variant in usable for spread in variant]
        if len(spreads) < 2:
            return None
        ratios = np.array([spread.ratio for spread in spreads])
        if not ratios.any():
            return None
        half = np.array([spread.n - 1 for spread in spreads]) / 2
        logs = np.log(np.maximum(ratios, 1e-5 * np.median(ratios[ratios > 0]))) - digamma(half) + np.log(half)
        excess = float(logs.var(ddof=1) - (1 - SHARED) * polygamma(1, half).mean())
        freedom = math.inf
        if excess > 1e-9:  # half of it is the inverse of the trigamma function, which has these bounds
            bounds = 1 / excess, 1 / excess + excess**-0.5
            freedom = 2 * brentq(lambda half: polygamma(1, half) - excess, *bounds, xtol=1e-14)
        return cls(usable, freedom, _within(usable))

    def lenders(self, borrower: VarianceComponents) -> tuple[VarianceComponents, ...]:
        """All comparisons but the borrower."""
        return tuple(spread for variant in self.variants for spread in variant if spread != borrower)

    def correlation(self, borrower: VarianceComponents) -> float:
        """The mean correlation of the estimates of two lenders; 0 for one."""
        sizes = [sum(spread != borrower for spread in variant) for variant in self.variants]
        pairs = sum(sizes) * (sum(sizes) - 1)
        same = sum(size * (size - 1) for size in sizes)
        return (same * self.within + (pairs - same) * SHARED) / pairs if pairs else 0.0


def _within(variants: Iterable[Sequence[VarianceComponents]]) -> float:
    """The mean squared correlation over seeds of two comparisons of one variant, without bias; at least `SHARED`."""
    squares = []
    for one, two in itertools.chain.from_iterable(itertools.combinations(variant, 2) for variant in variants):
        if one.n == two.n > 2 and len(one.by_seed) == len(two.by_seed) == one.n and one.ratio and two.ratio:
            product = float(np.dot(one.by_seed, two.by_seed)) / (one.n - 1)
            by_chance = 1 / (one.n - 1)
            squares.append((product**2 / (one.between * two.between) - by_chance) / (1 - by_chance))
    return min(1.0, max(SHARED, float(np.mean(squares)))) if squares else SHARED


def measured(differences: Float, largest: float = 0.0) -> VarianceComponents | None:
    """The spread of differences (S, E); None for one seed, and for equal differences, where equality is up to rounding
    of the values that were subtracted: `largest` is the largest absolute one."""
    n, examples = differences.shape
    if n < 2:
        return None
    mean = differences.mean()
    of_seeds, of_examples = differences.mean(1, keepdims=True), differences.mean(0)
    deviations = (of_seeds - mean)[:, 0]
    between = float((deviations**2).sum()) / (n - 1)
    sampling = rest = 0.0
    if examples > 1:
        # Both mean squares over S, so that their difference over E is (B - R) / SE.
        residual = float(((of_examples - mean) ** 2).sum()) / (examples - 1)
        rest = float(((differences - of_seeds - of_examples + mean) ** 2).sum()) / ((n - 1) * (examples - 1) * n)
        sampling = max(0.0, residual - rest) / examples
    spread = VarianceComponents(n, examples, between, sampling, rest * n / examples, 0.0, tuple(deviations.tolist()))
    # rounding errors of equal differences are no spread
    return spread if spread.variance(n) > (1e-12 * max(largest, float(np.abs(differences).max()))) ** 2 else None


@dataclass(frozen=True)
class Component:
    """An estimated part of the variance of a mean."""

    variance: float
    freedom: float
    """Degrees of freedom of the estimate."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval, in points."""

    low: float
    high: float

    @property
    def half(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2

    def covers(self, value: float) -> bool:
        """Whether `value` lies in it."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class BehrensFisher:
    """The distribution of Behrens and Fisher: the mean plus a Student's t for each of two parts of its variance.

    One t with Satterthwaite's degrees of freedom rejects two to four times too often in the tails with four seeds,
    which may lie close together by chance. This distribution keeps the uncertainty of each part, and its tests reject
    at most at their level (Robinson 1976). With one part it is Student's t.
    """

    mean: float
    seeds: Component
    examples: Component

    def below(self, value: float) -> float:
        """The one-sided p-value of the null hypothesis that the effect is at most `value`."""
        from scipy.special import ndtr

        if value > self.mean:  # a small p is a sum of small terms, not 1 minus a sum
            return 1 - self.below(2 * self.mean - value)
        deviations, shares = self._mixture
        return float(shares @ ndtr((value - self.mean) / deviations))

    def quantile(self, share: float) -> float:
        """The value at which `below` is `share`."""
        from scipy.special import ndtri

        if share > 0.5:
            return 2 * self.mean - self.quantile(1 - share)
        # Secants of the normal deviate of `below`, which is nearly linear, and linear with known variances.
        aim, error = float(ndtri(share)), math.sqrt(self.seeds.variance + self.examples.variance)
        one, two = self.mean, self.mean + aim * error
        deviate = 0.0
        for _ in range(50):
            before, deviate = deviate, float(ndtri(self.below(two)))
            if abs(deviate - aim) < 1e-10 or deviate == before:
                break
            one, two = two, two + (aim - deviate) * (two - one) / (deviate - before)
        return two

    def interval(self, error: float) -> Interval:
        """The interval that leaves out half of this probability on each side."""
        return Interval(self.quantile(error / 2), self.quantile(1 - error / 2))

    @cached_property
    def _mixture(self) -> tuple[Float, Float]:
        """The standard deviations and weights of the normal distributions that it mixes."""
        freedoms = (part.freedom if part.variance else math.inf for part in (self.seeds, self.examples))
        (one, shares), (two, others) = map(_scales, freedoms)
        variances = self.seeds.variance * one[:, None] + self.examples.variance * two
        return np.sqrt(variances).ravel(), np.outer(shares, others).ravel()


@lru_cache(maxsize=256)
def _scales(freedom: float) -> tuple[Float, Float]:
    """Possible variances in units of their estimate, nu / chi-square, (K,), and their probabilities, (K,).

    The trapezoid rule in the logarithm of the chi-square; a step of a third gives 8 digits. With a thousand degrees
    of freedom or more the estimate counts as the variance.
    """
    from scipy.special import gammaincinv

    if freedom >= 1000:
        return np.ones(1), np.ones(1)
    low, high = np.log(2 * gammaincinv(freedom / 2, [1e-14, 1 - 1e-14]))
    logs = np.linspace(low, high, max(32, math.ceil(3 * (high - low))))
    density = freedom / 2 * logs - np.exp(logs) / 2
    shares = np.exp(density - density.max())
    return freedom / np.exp(logs), shares / shares.sum()
