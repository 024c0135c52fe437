"""A metric of one model as a function of its examples: what resampling them, or leaving one out, does to it.

An example is what is drawn anew for another test set: a row of a task, a sentence of a tagging task with all its words,
or, where rows hang together, the whole group of them (`Grouped`): all questions on an article, all pairs of a premise.
Each measure gives its value under any weights on the examples, which the bootstrap asks for, and a contribution of
each example. The contributions average to the value and differ as the examples pull at it (an infinitesimal or plain
jackknife), so that the variance of any metric over examples is that of a mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bertlab.lab.study import Kind

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.integer[Any]]


class Metric(Protocol):
    """A metric of one model on E examples."""

    @property
    def examples(self) -> int:
        """E."""

    def weighted(self, weights: Floats) -> Floats:
        """The metric with each example as often as the weights (B, E) say: (B,)."""

    def contributions(self) -> Floats:
        """What each example contributes, (E,); their mean is the metric."""


@dataclass(frozen=True, eq=False)
class Mean:
    """A mean of scores: accuracy, exact match and F1 of answers (points), log-likelihood of the right label (nats)."""

    scores: Floats
    """(E,)"""

    @property
    def examples(self) -> int:
        """E."""
        return len(self.scores)

    def weighted(self, weights: Floats) -> Floats:
        """The weighted means, (B,)."""
        return np.asarray(weights @ self.scores / weights.sum(-1))

    def contributions(self) -> Floats:
        """The scores."""
        return self.scores


@dataclass(frozen=True, eq=False)
class MetricOfMeans:
    """A smooth function of the means of some counts of each example: F1 of entities, Matthews and Pearson."""

    counts: Floats
    """(E, K)"""
    metric: Callable[[Floats], Floats]
    """From means (..., K) to points (...)."""

    @property
    def examples(self) -> int:
        """E."""
        return len(self.counts)

    def weighted(self, weights: Floats) -> Floats:
        """The metric of the weighted means, (B,)."""
        return self.metric(weights @ self.counts / weights.sum(-1, keepdims=True))

    def contributions(self) -> Floats:
        """Jackknife pseudo-values, shifted to have the metric for their mean."""
        total, number = self.counts.sum(0), self.examples
        if number == 1:
            return self.metric(self.counts)
        pull = -(number - 1) * self.metric((total - self.counts) / (number - 1))
        return np.asarray(self.metric(total / number) + pull - pull.mean())


@dataclass(frozen=True, eq=False)
class Spearman:
    """Rank correlation in points; 0 where either is constant. Every resample is ranked anew."""

    prediction: Floats
    """(E,)"""
    right: Floats
    """(E,)"""

    @property
    def examples(self) -> int:
        """E."""
        return len(self.right)

    def weighted(self, weights: Floats) -> Floats:
        """The correlation of the weighted mid-ranks, (B,)."""
        shares = weights / weights.sum(-1, keepdims=True)
        one, other = _ranks(self.prediction, shares), _ranks(self.right, shares)
        squares = [np.einsum("be,be,be->b", shares, *pair) for pair in ((one, one), (other, other), (one, other))]
        middle = np.full(len(weights), 0.5)  # the mean of mid-ranks is always this
        return _pearson(np.stack([middle, middle, *squares], -1))

    def contributions(self) -> Floats:
        """The influence function: an example has a rank of its own, and moves those of all others."""
        same = np.full((1, self.examples), 1 / self.examples)
        value = self.weighted(same)
        ranks = [_ranks(values, same)[0] for values in (self.prediction, self.right)]
        if any(np.ptp(each) == 0 for each in ranks):
            return np.zeros(self.examples)
        (one, other), rho = [(each - each.mean()) / each.std() for each in ranks], value / 100
        pull = one * other - rho / 2 * (one**2 + other**2)
        for values, mine, its, rank in (
            (self.prediction, one, other, ranks[0]),
            (self.right, other, one, ranks[1]),
        ):
            slope = (its - rho * mine) / rank.std()  # of the correlation in the rank of each example, times E
            pull -= _ranks(values, slope[None])[0] / self.examples
        return np.asarray(value + 100 * (pull - pull.mean()))


@dataclass(frozen=True, eq=False)
class Grouped:
    """Another measure with whole groups of its examples for examples: they are drawn, and left out, together.

    Groups differ in size, and a metric of theirs is a ratio, so a group contributes what its examples do together
    beyond the value (the linearised, or cluster-robust, variance).
    """

    measure: Metric
    group: Labels
    """(E,) the number of the group, 0 to G - 1, of each example."""

    @property
    def examples(self) -> int:
        """G."""
        return 1 + int(self.group.max())

    def weighted(self, weights: Floats) -> Floats:
        """The metric with each group as often as the weights (B, G) say: (B,)."""
        return self.measure.weighted(weights[:, self.group])

    def contributions(self) -> Floats:
        """What each group contributes, (G,); their mean is the metric."""
        own = self.measure.contributions()
        value = own.mean()
        return np.asarray(value + np.bincount(self.group, own - value) * self.examples / len(own))


def averaged(finetune_seeds: Sequence[Metric]) -> Floats:
    """The contributions to the mean over fine-tuning seeds, (E,)."""
    return np.asarray(np.mean([each.contributions() for each in finetune_seeds], axis=0))


def accuracy(prediction: Labels, label: Labels) -> Mean:
    """Points of exact agreement, each label an example."""
    return Mean(100.0 * (prediction == label))


def word_accuracy(prediction: Labels, label: Labels, sentence: Labels) -> MetricOfMeans:
    """Points of exact agreement of words, (W,) each; the sentences that they are of are the examples."""
    return MetricOfMeans(_by_sentence(sentence, prediction == label, np.ones(len(label))), _share)


def f1(prediction: Labels, label: Labels) -> MetricOfMeans:
    """F1 of the second of two classes, in points."""
    guessed, true = prediction == 1, label == 1
    return MetricOfMeans(np.stack([guessed & true, guessed, true], -1).astype(np.float64), _f1)


def entities(metric: str, prediction: Labels, label: Labels, sentence: Labels, names: Sequence[str]) -> MetricOfMeans:
    """`precision`, `recall` or `f1` of entities in points, as seqeval has them; BIO tags of words, (W,) each.

    The sentences are the examples; words of a sentence stand side by side.
    """
    kinds = list(dict.fromkeys(name[2:] for name in names))
    kind = np.array([kinds.index(name[2:]) for name in names])
    letter = np.array([name[0] for name in names])
    opens = np.diff(sentence, prepend=sentence[:1] - 1) != 0
    (guessed, one), (true, other) = (_spans(letter[tags], kind[tags], opens) for tags in (prediction, label))
    right = guessed & true & (one == other).all(0)
    counts = _by_sentence(sentence, right, guessed, true)
    if metric == "f1":
        return MetricOfMeans(counts, _f1)
    return MetricOfMeans(counts[:, [0, 1 if metric == "precision" else 2]], _share)


def matthews(prediction: Labels, label: Labels) -> MetricOfMeans:
    """Matthews correlation of any number of classes in points; 0 where predictions or labels are all the same."""
    classes = 1 + max(int(prediction.max()), int(label.max()))
    counts = np.zeros((len(label), classes * classes))
    counts[np.arange(len(label)), label * classes + prediction] = 1
    return MetricOfMeans(counts, partial(_matthews, classes))


def pearson(prediction: Floats, right: Floats) -> MetricOfMeans:
    """Linear correlation in points; 0 where either is constant."""
    # Standardised first: the products of means far from zero would cancel.
    one, other = ((each - each.mean()) / (each.std() or 1.0) for each in (prediction, right))
    return MetricOfMeans(np.stack([one, other, one * one, other * other, one * other], -1), _pearson)


def of(kind: Kind, metric: str, predictions: Mapping[str, npt.NDArray[Any]], names: Sequence[str] = ()) -> Metric:
    """The measure of a run's `predictions.npz`; `names` are the tags of a tagging task, in the order of their integers.

    `log_likelihood` is that of the right label in nats: it sees smaller effects than an accuracy of the same examples.
    With an array `group`, rows of the same number are one example. `ValueError` for a metric that the kind of task has
    not.
    """
    measure = _of_rows(kind, metric, predictions, names)
    group = predictions.get("group")
    if group is None:
        return measure
    if kind == "tagging":  # of each sentence that has a word
        group = group[np.unique(predictions["sentence"])]
    if len(group) != measure.examples:
        raise ValueError(f"groups of {len(group)} rows do not fit {measure.examples} examples")
    return Grouped(measure, np.unique(group, return_inverse=True)[1])


def _of_rows(kind: Kind, metric: str, predictions: Mapping[str, npt.NDArray[Any]], names: Sequence[str]) -> Metric:
    if metric == "log_likelihood" and metric in predictions:
        scores = predictions[metric].astype(np.float64)
        if kind != "tagging":
            return Mean(scores)
        return MetricOfMeans(_by_sentence(predictions["sentence"], scores, np.ones(len(scores))), _ratio)
    if kind == "span" and metric in ("exact", "f1"):
        return Mean(100 * predictions[metric].astype(np.float64))
    prediction, label = predictions["prediction"], predictions["label"]
    if kind == "tagging" and metric == "accuracy":
        return word_accuracy(prediction, label, predictions["sentence"])
    if kind == "tagging" and metric in ("precision", "recall", "f1"):
        return entities(metric, prediction, label, predictions["sentence"], names)
    if kind == "regression" and metric in ("pearson", "spearman"):
        numbers = prediction.astype(np.float64), label.astype(np.float64)
        return pearson(*numbers) if metric == "pearson" else Spearman(*numbers)
    if kind in ("classification", "multiple-choice") and metric == "accuracy":
        return accuracy(prediction, label)
    if kind == "classification" and metric in ("f1", "matthews"):
        return f1(prediction, label) if metric == "f1" else matthews(prediction, label)
    raise ValueError(f"{kind} has no metric {metric}")


def _share(means: Floats) -> Floats:
    return 100 * _ratio(means)


def _ratio(means: Floats) -> Floats:
    return _quotient(means[..., 0], means[..., 1])


def _f1(means: Floats) -> Floats:
    return 200 * _quotient(means[..., 0], means[..., 1] + means[..., 2])


def _matthews(classes: int, means: Floats) -> Floats:
    """Gorodkin's R of a confusion matrix (label, prediction), which of two classes is Matthews'."""
    table = means.reshape(*means.shape[:-1], classes, classes)
    true, guessed = table.sum(-1), table.sum(-2)
    covariance = np.trace(table, axis1=-2, axis2=-1) - (true * guessed).sum(-1)
    return 100 * _quotient(covariance, _root((1 - (true**2).sum(-1)) * (1 - (guessed**2).sum(-1))))


def _pearson(means: Floats) -> Floats:
    """From the means of x, y, x^2, y^2 and xy."""
    one, other, one_2, other_2, product = np.moveaxis(means, -1, 0)
    return 100 * _quotient(product - one * other, _root((one_2 - one * one) * (other_2 - other * other)))


def _root(values: Floats) -> Floats:
    """Square roots, exactly 0 for what is 0 but for rounding."""
    return np.sqrt(np.where(values > 1e-12, values, 0))


def _quotient(above: Floats, below: Floats) -> Floats:
    """`above / below`, 0 where that is nothing by nothing."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _by_sentence(sentence: Labels, *counts: npt.NDArray[Any]) -> Floats:
    """Sums of the words of each sentence: K times (W,) -> (E, K)."""
    _, owner = np.unique(sentence, return_inverse=True)
    return np.stack([np.bincount(owner, each) for each in counts], -1)


def _spans(
    letter: npt.NDArray[np.str_], kind: Labels, opens: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.bool_], Labels]:
    """Where entities start, (W,), and there their end and type, (2, W); `opens` where a sentence starts."""
    inside = letter != "O"
    before = np.roll(inside, 1) & (np.roll(kind, 1) == kind) & ~opens  # the word before is of the same type
    starts = inside & ((letter == "B") | ~before)
    bounds = np.append(np.flatnonzero(starts | ~inside), len(letter))
    ends = bounds[np.searchsorted(bounds, np.arange(len(letter)), side="right")]
    return starts, np.stack([ends, kind])


def _ranks(values: Floats, weights: Floats) -> Floats:
    """The weight below each of `values` (E,) and half of that beside it: weights (B, E) -> mid-ranks (B, E)."""
    _, place = np.unique(values, return_inverse=True)
    order = np.argsort(place, kind="stable")
    mass = np.add.reduceat(weights[:, order], np.flatnonzero(np.diff(place[order], prepend=-1)), axis=1)
    return np.asarray((np.cumsum(mass, axis=1) - mass / 2)[:, place])
