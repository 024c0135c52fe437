"""Regression on a text or a pair of texts: one value from [CLS], as in BERT section 4.1 for STS-B."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bertlab.arrays import Float
from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks.examples import Examples
from bertlab.tasks.kinds.base import Predicted, TaskKind
from bertlab.tasks.kinds.scoring import Arrays
from bertlab.tasks.metrics import Mean, Metric, MetricOfMeans, quotient, root
from bertlab.tasks.task import RawExamples, Table, Task, TaskData

if TYPE_CHECKING:
    from torch import Tensor

LARGEST = 1e15
"""The largest absolute score: squared errors are summed in float32, whose maximum is 3e38."""
_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


class Regression(TaskKind):
    """A value for a text or a pair of texts."""

    name = "regression"
    metrics: ClassVar[tuple[str, ...]] = ("pearson", "spearman")

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[float]:
        """Finite numbers, which tables have as text. `BadInput` names the row of another value."""
        scores = []
        for row, value in enumerate(table.columns[task.label], start=1):
            score = float(value) if table.cells and _NUMBER.fullmatch(str(value)) else value
            if isinstance(score, bool) or not isinstance(score, int | float) or not abs(score) <= LARGEST:
                text = ", a text" if isinstance(value, str) and not table.cells else ""
                wrong = f"{table.where(task.label)} row {row} is {shown(value)}{text}"
                raise BadInput(f"{wrong}: give a finite number, {LARGEST:g} at most either way")
            scores.append(float(score))
        return scores

    def blank(self, task: Task, table: Table, text: Sequence[Sequence[Any]]) -> list[float]:
        """Zeros."""
        return [0.0] * len(text[0])

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The mean squared error."""
        from torch.nn.functional import mse_loss

        return mse_loss(logits.flatten().float(), targets.flatten())

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Float, threshold: float | None = None
    ) -> Predicted:
        """The outputs themselves."""
        prediction, label = scores[:, 0].astype(np.float64), examples.targets
        # Predictions are never exactly equal: a hundredth of the labels' standard deviation counts as equal.
        collapsed = bool(prediction.std() <= label.std() / 100)
        return Predicted(arrays={"prediction": prediction, "label": label}, collapsed=collapsed)

    def outputs(
        self, labels: Sequence[str], raw: RawExamples, examples: Examples, scores: Float, threshold: float | None
    ) -> list[dict[str, Any]]:
        """The value."""
        return [{"score": score} for score in scores[:, 0].tolist()]

    def published_fields(self, labels: Sequence[str]) -> dict[str, Any]:
        """One output, which is no probability."""
        return {"problem_type": "regression", "id2label": {"0": "score"}, "label2id": {"score": 0}}

    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """The mean of the training examples."""
        return {"prediction": np.full(len(examples), train.targets.mean()), "label": examples.targets}

    def likelihood(self, arrays: Arrays) -> Metric:
        """The mean density of the scores under a normal distribution around each prediction, one per example, in points
        of its highest density.

        Its variance is that of the scores of the split, the same for all runs: a run that misjudges its own error gains
        or loses nothing.
        """
        prediction, label = arrays["prediction"].astype(np.float64), arrays["label"].astype(np.float64)
        variance = label.var() or 1.0
        return Mean(100 * np.exp(-((prediction - label) ** 2) / (2 * variance)))

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """Linear and rank correlation, the metrics of STS-B."""
        prediction, label = arrays["prediction"].astype(np.float64), arrays["label"].astype(np.float64)
        if name == "pearson":
            return pearson(prediction, label)
        if name != "spearman":
            raise self.unscored(name)
        return Spearman(prediction, label)


def pearson(prediction: Float, label: Float) -> MetricOfMeans:
    """Linear correlation in points; 0 if either is constant."""
    # Standardise first: the products of means far from zero would cancel.
    one, other = ((values - values.mean()) / (values.std() or 1.0) for values in (prediction, label))
    return MetricOfMeans(np.stack([one, other, one * one, other * other, one * other], -1), _pearson)


def _pearson(means: Float) -> Float:
    """The correlation, in points, from the means of x, y, x^2, y^2 and xy."""
    one, other, one_2, other_2, product = np.moveaxis(means, -1, 0)
    return 100 * quotient(product - one * other, root((one_2 - one * one) * (other_2 - other * other)))


@dataclass(frozen=True, eq=False)
class Spearman(Metric):
    """Rank correlation of two (E,) in points; 0 if either is constant."""

    prediction: Float
    label: Float

    @property
    def value(self) -> float:
        """The correlation of all examples."""
        return float(self._correlation(np.ones((1, len(self.label))))[0])

    def _correlation(self, weights: Float) -> Float:
        """The correlation of the mid-ranks with examples weighted by (B, E): (B,)."""
        shares = weights / weights.sum(-1, keepdims=True)
        one, other = _ranks(self.prediction, shares), _ranks(self.label, shares)
        squares = [np.einsum("be,be,be->b", shares, *pair) for pair in ((one, one), (other, other), (one, other))]
        middle = np.full(len(weights), 0.5)  # the mean of mid-ranks
        return _pearson(np.stack([middle, middle, *squares], -1))

    def contributions(self) -> Float:
        """The influence function: an example contributes by its own rank and by shifting all other ranks."""
        count = len(self.label)
        same = np.full((1, count), 1 / count)
        value = self._correlation(same)
        ranks = [_ranks(values, same)[0] for values in (self.prediction, self.label)]
        if any(np.ptp(side) == 0 for side in ranks):
            return np.zeros(count)
        (one, other), rho = [(side - side.mean()) / side.std() for side in ranks], value / 100
        pull = one * other - rho / 2 * (one**2 + other**2)
        for values, mine, its, side in ((self.prediction, one, other, ranks[0]), (self.label, other, one, ranks[1])):
            slope = (its - rho * mine) / side.std()  # `count` times the derivative of the correlation by each rank
            pull -= _ranks(values, slope[None])[0] / count
        return np.asarray(value + 100 * (pull - pull.mean()))


def _ranks(values: Float, weights: Float) -> Float:
    """The weight below each of `values` (E,) plus half of the weight of equal values: (B, E) -> mid-ranks (B, E)."""
    _, rank = np.unique(values, return_inverse=True)
    order = np.argsort(rank, kind="stable")
    mass = np.add.reduceat(weights[:, order], np.flatnonzero(np.diff(rank[order], prepend=-1)), axis=1)
    return np.asarray((np.cumsum(mass, axis=1) - mass / 2)[:, rank])
