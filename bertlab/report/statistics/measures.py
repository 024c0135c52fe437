"""The metric that a kind of task gives, over its examples or over groups of them: what a report resamples.

An example is what another test set would draw anew: an example of a task, a sentence of a tagging task with all its
words, or, where examples depend on each other, their whole group: all questions on an article, all pairs of a premise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertlab.tasks import kinds
from bertlab.tasks.kinds.base import Arrays
from bertlab.tasks.metrics import Floats, Labels, Metric


@dataclass(frozen=True, eq=False)
class Grouped:
    """A metric whose examples are groups of another's: a resample draws or leaves out whole groups.

    Groups differ in size, and their metric is a ratio, so a group contributes what its examples add beyond the value
    (the linearised, or cluster-robust, variance).
    """

    metric: Metric
    group: Labels
    """(E,) the number of the group, 0 to G - 1, of each example."""

    @property
    def examples(self) -> int:
        """G."""
        return 1 + int(self.group.max())

    @property
    def value(self) -> float:
        """The metric of all examples."""
        return self.metric.value

    def weighted(self, weights: Floats) -> Floats:
        """The metric with each group as often as the weights (B, G) say: (B,)."""
        return self.metric.weighted(weights[:, self.group])

    def contributions(self) -> Floats:
        """What each group contributes, (G,); their mean is the metric."""
        own = self.metric.contributions()
        value = own.mean()
        return np.asarray(value + np.bincount(self.group, own - value) * self.examples / len(own))


def averaged(finetune_seeds: Sequence[Metric]) -> Floats:
    """The contributions to the mean over fine-tuning seeds, (E,)."""
    return np.asarray(np.mean([each.contributions() for each in finetune_seeds], axis=0))


def of(kind: str, metric: str, arrays: Arrays, labels: Sequence[str] = ()) -> Metric:
    """A metric of a run's `predictions.npz`; an array `group` gives each example the number of its group.

    `ValueError` for a metric that the kind of task does not have, `KeyError` for an unknown kind and for
    missing predictions.
    """
    task = kinds.KINDS[kind]
    found = task.metric(metric, arrays, labels)
    if "group" not in arrays:
        return found
    group = arrays["group"][task.examples_of(arrays)]
    if len(group) != found.examples:
        raise ValueError(f"{len(group)} group numbers do not fit {found.examples} examples")
    return Grouped(found, np.unique(group, return_inverse=True)[1])
