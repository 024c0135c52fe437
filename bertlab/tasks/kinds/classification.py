"""Classification of a text or a pair of texts from [CLS], as in BERT section 4.1."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks.examples import Floats, Integers
from bertlab.tasks.kinds.base import Arrays, TaskKind
from bertlab.tasks.metrics import Mean, Metric, MetricOfMeans, f1_points, quotient, root
from bertlab.tasks.raw import Table
from bertlab.tasks.task import Task


class Classification(TaskKind):
    """A label for a text or a pair of texts."""

    name = "classification"
    metrics = ("accuracy", "matthews", "f1")
    labelled = True

    def label_names(self, task: Task, tables: Sequence[Table]) -> tuple[str, ...]:
        """Two labels at least: those of the task or of its source, else those in the data."""
        where = [table.where(task.label) for table in tables]
        columns = [table.columns[task.label] for table in tables]
        names = task.labels or tables[0].names or label_names(columns, where)
        if len(names) < 2:
            raise BadInput(f"{where[0]} has the label {shown(names[0])} alone: a task needs at least two")
        return names

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[int]:
        """Labels are texts, or whole numbers from 0."""
        return labels(table.columns[task.label], names, table.where(task.label))

    def known(self, labels: Sequence[str]) -> tuple[str, ...]:
        """F1 is that of the second of two classes; more classes have none."""
        return self.metrics if len(labels) in (0, 2) else ("accuracy", "matthews")

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """Accuracy; Matthews correlation of any number of classes; F1 of the second of two."""
        prediction, label = arrays["prediction"], arrays["label"]
        if name == "accuracy":
            return accuracy(prediction, label)
        return f1(prediction, label) if name == "f1" else matthews(prediction, label)


def accuracy(prediction: Integers, label: Integers) -> Mean:
    """Accuracy in points."""
    return Mean(100.0 * (prediction == label))


def f1(prediction: Integers, label: Integers) -> MetricOfMeans:
    """F1 of the second of two classes, in points."""
    predicted, true = prediction == 1, label == 1
    return MetricOfMeans(np.stack([predicted & true, predicted, true], -1).astype(np.float64), f1_points)


def matthews(prediction: Integers, label: Integers) -> MetricOfMeans:
    """Matthews correlation of any number of classes in points; 0 if all predictions or all labels are the same."""
    classes = 1 + max(int(prediction.max()), int(label.max()))
    counts = np.zeros((len(label), classes * classes))
    counts[np.arange(len(label)), label * classes + prediction] = 1
    return MetricOfMeans(counts, partial(_matthews, classes))


def _matthews(classes: int, means: Floats) -> Floats:
    """Gorodkin's R of a confusion matrix (label, prediction); for two classes, Matthews correlation."""
    table = means.reshape(*means.shape[:-1], classes, classes)
    true, predicted = table.sum(-1), table.sum(-2)
    covariance = np.trace(table, axis1=-2, axis2=-1) - (true * predicted).sum(-1)
    return 100 * quotient(covariance, root((1 - (true**2).sum(-1)) * (1 - (predicted**2).sum(-1))))


def label_names(columns: Sequence[Sequence[Any]], where: Sequence[str]) -> tuple[str, ...]:
    """The labels in the raw values of several splits: sorted texts, or the integers from 0.

    Raises `BadInput` for other values, such as the scores of a regression; `where` names each split's column.
    """
    found: set[Any] = set()
    for values, place in zip(columns, where, strict=True):
        for row, value in enumerate(values, start=1):
            label = value if isinstance(value, str) else _whole(value)
            wrong = label is None or (isinstance(label, int) and not 0 <= label < 1000)
            if wrong or type(label) is not type(next(iter(found), label)):
                raise BadInput(
                    f"label {shown(value)} in {place} row {row}: give texts alone, or whole numbers from 0 to 999 alone"
                )
            found.add(label)
    if isinstance(next(iter(found)), str):
        return tuple(sorted(found))
    return tuple(str(number) for number in range(max(found) + 1))


def labels(values: Sequence[Any], names: tuple[str, ...], where: str) -> list[int]:
    """The labels of a split, each given as a name or an integer; `BadInput` names the row of a wrong one."""
    known = {name: number for number, name in enumerate(names)}
    found = []
    for row, value in enumerate(values, start=1):
        number = known[value] if isinstance(value, str) and value in known else _whole(value)
        if number is None or not 0 <= number < len(names):
            allowed = ", ".join(name if name == str(at) else f"{at} ({name})" for name, at in known.items())
            raise BadInput(f"label {shown(value)} in {where} row {row}: give one of {allowed}")
        found.append(number)
    return found


def _whole(value: Any) -> int | None:
    """A value as an integer, if it is a whole number."""
    if isinstance(value, int):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else None
