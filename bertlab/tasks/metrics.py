"""Metrics as sums over examples, so that a report computes their variance without recomputing predictions.

An example is the unit that another test set would sample: a sentence with all its words, or a group of dependent ones.
Contributions of examples average to the value and measure their influence (an infinitesimal or plain jackknife), so the
variance of any metric is that of a mean. Shapes: E examples, K statistics per example. Values are in points (0 to 100).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bertlab.arrays import Float, Integer

NORMAL_95 = 1.96
"""Standard errors of half of a 95 % interval of a normal distribution."""


class Metric(ABC):
    """A metric of one model on E examples."""

    @property
    def examples(self) -> int:
        """E."""
        return len(self.contributions())

    @property
    def value(self) -> float:
        """The metric of all examples."""
        return float(self.contributions().mean())

    @abstractmethod
    def contributions(self) -> Float:
        """The contribution of each example, (E,); their mean is the metric."""

    def per_example(self) -> Float:
        """The metric of each example by itself, in the order of the predictions."""
        return self.contributions()


@dataclass(frozen=True, eq=False)
class Mean(Metric):
    """A mean of scores: accuracy, exact match and F1 of answers, probability of the right answer."""

    scores: Float
    """(E,) what each of E examples scores."""

    def contributions(self) -> Float:
        """The scores."""
        return self.scores


@dataclass(frozen=True, eq=False)
class MetricOfMeans(Metric):
    """A smooth function of the means of sufficient statistics: F1 of entities, Matthews and Pearson correlation."""

    statistics: Float
    """(E, K) what each of E examples adds to each of K statistics."""
    function: Callable[[Float], Float]
    """The map from means (..., K) to values (...)."""

    @property
    def value(self) -> float:
        """The function of the means."""
        return float(self.function(self.statistics.mean(0)))

    def contributions(self) -> Float:
        """Jackknife pseudo-values, shifted to have the metric for their mean."""
        total, number = self.statistics.sum(0), len(self.statistics)
        if number == 1:
            return self.function(self.statistics)
        pull = -(number - 1) * self.function((total - self.statistics) / (number - 1))
        return np.asarray(self.function(total / number) + pull - pull.mean())

    def per_example(self) -> Float:
        """The function of the statistics of one example, (E,)."""
        return self.function(self.statistics)


@dataclass(frozen=True, eq=False)
class Grouped(Metric):
    """A metric whose examples are groups of another's. As groups differ in size, one contributes what its examples add
    beyond the value (the linearised, or cluster-robust, variance)."""

    metric: Metric
    group: Integer
    """(E,) the number of the group, 0 to G - 1, of each example."""

    def contributions(self) -> Float:
        """The contribution of each group, (G,)."""
        contributions = self.metric.contributions()
        value = contributions.mean()
        return np.asarray(
            value + np.bincount(self.group, contributions - value) * (1 + self.group.max()) / len(contributions)
        )

    def per_example(self) -> Float:
        """The metric of each example, not of each group, (E,)."""
        return self.metric.per_example()


def f1_points(means: Float) -> Float:
    """F1 in points from the means of true positives, predicted positives and positives."""
    return 200 * quotient(means[..., 0], means[..., 1] + means[..., 2])


def percentage(means: Float) -> Float:
    """The first of two means divided by the second, in points."""
    return 100 * quotient(means[..., 0], means[..., 1])


def quotient(numerator: Float, denominator: Float) -> Float:
    """`numerator / denominator`, 0 where the denominator is not positive."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def root(values: Float) -> Float:
    """Square roots; exactly 0 for values that differ from 0 by rounding only."""
    return np.sqrt(np.where(values > 1e-12, values, 0))
