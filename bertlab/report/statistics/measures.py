"""What a report resamples: the metric that a kind of task gives, over its examples or over groups of them.

An example is what is drawn anew for another test set: a row of a task, a sentence of a tagging task with all its words,
or, where rows hang together, the whole group of them: all questions on an article, all pairs of a premise.
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
    """Another metric with whole groups of its examples for examples: they are drawn, and left out, together.

    Groups differ in size, and a metric of theirs is a ratio, so a group contributes what its examples do together
    beyond the value (the linearised, or cluster-robust, variance).
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
    """A metric of a run's `predictions.npz`; with an array `group`, rows of the same number are one example.

    `ValueError` for a metric that the kind of task does not have, `KeyError` for an unknown kind and for
    missing predictions.
    """
    task = kinds.KINDS[kind]
    found = task.metric(metric, arrays, labels)
    if "group" not in arrays:
        return found
    group = arrays["group"][task.examples_of(arrays)]
    if len(group) != found.examples:
        raise ValueError(f"groups of {len(group)} rows do not fit {found.examples} examples")
    return Grouped(found, np.unique(group, return_inverse=True)[1])
