"""Classification of a text or a pair of texts from [CLS], as in BERT section 4.1."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bertlab.arrays import Bool, Float, Integer
from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks import answers
from bertlab.tasks.kinds.base import TaskKind
from bertlab.tasks.kinds.scoring import Arrays
from bertlab.tasks.metrics import Mean, Metric, MetricOfMeans, f1_points, percentage, quotient, root
from bertlab.tasks.task import Table, Task


class Classification(TaskKind):
    """A label for a text or a pair of texts."""

    name = "classification"
    metrics: ClassVar[tuple[str, ...]] = ("accuracy", "matthews", "f1", "macro_f1", "exact")
    of_questions = ("exact",)
    labelled = True

    def label_names(self, task: Task, tables: Sequence[Table]) -> tuple[str, ...]:
        """Two labels at least: those of the task or of its source, else the sorted texts or the integers in the data.
        Raises `BadInput` for other values, such as the scores of a regression, and for a split that shares no label
        with the first."""
        names = task.labels or tables[0].names
        if not names:
            names = answers.names(task, tables)
            answers.require_shared(tables, task.label)
        if len(names) < 2:
            where = tables[0].where(task.label)
            raise BadInput(f"{where} has the label {shown(names[0])} alone: a task needs at least two")
        return names

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[Any]:
        """Labels are names, or whole numbers that count them."""
        read = answers.reader(task, table, names)
        return answers.places(table.columns[task.label], read, names, table.where(task.label), task.counted_from or 0)

    def metrics_for_labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        """F1 is that of the second of two classes; more classes have the mean of theirs, macro F1."""
        lacks = {0: "", 2: "macro_f1"}.get(len(labels), "f1")
        return tuple(metric for metric in self.metrics if metric != lacks)

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """Accuracy; Matthews correlation of any number of classes; F1 of the second of two, or the mean of all; exact
        match, the share of questions with all examples right."""
        prediction, label = arrays["prediction"], arrays["label"]
        if name == "accuracy":
            return accuracy(prediction, label)
        if name == "f1":
            predicted, true = prediction == 1, label == 1
            return MetricOfMeans(np.stack([predicted & true, predicted, true], -1).astype(np.float64), f1_points)
        if name == "macro_f1":
            label_ids = np.arange(1 + max(int(prediction.max()), int(label.max())))
            predicted, true = (values[:, None] == label_ids for values in (prediction, label))
            return MetricOfMeans(np.concatenate([predicted & true, predicted, true], -1).astype(np.float64), _macro_f1)
        if name == "exact":
            return exact(prediction == label, arrays["question"])
        if name != "matthews":
            raise self.unscored(name)
        classes = 1 + max(int(prediction.max()), int(label.max()))
        counts = np.zeros((len(label), classes * classes))
        counts[np.arange(len(label)), label * classes + prediction] = 1
        return MetricOfMeans(counts, partial(_matthews, classes))


def accuracy(prediction: Integer, label: Integer) -> Mean:
    """Accuracy in points."""
    return Mean(100.0 * (prediction == label))


def exact(right: Bool, question: Integer) -> MetricOfMeans:
    """The percentage of questions whose examples are all right. The first example of a question counts for it."""
    _, first, number = np.unique(question, return_index=True, return_inverse=True)
    statistics = np.zeros((len(right), 2))
    statistics[first, 0] = np.bincount(number, ~right) == 0
    statistics[first, 1] = 1
    return MetricOfMeans(statistics, percentage)


def _macro_f1(means: Float) -> Float:
    """The mean F1 of classes in points, from the means of true positives, predicted positives and positives (..., 3 C).
    As in scikit-learn, a class that is neither predicted nor present does not count."""
    both, predicted, true = np.split(means, 3, axis=-1)
    counted = (predicted + true > 0).sum(-1).astype(np.float64)
    return 200 * quotient(quotient(both, predicted + true).sum(-1), counted)


def _matthews(classes: int, means: Float) -> Float:
    """Gorodkin's R of a confusion matrix (label, prediction), in points; for two classes, Matthews correlation. 0 if
    all predictions or all labels are the same."""
    table = means.reshape(*means.shape[:-1], classes, classes)
    true, predicted = table.sum(-1), table.sum(-2)
    covariance = np.trace(table, axis1=-2, axis2=-1) - (true * predicted).sum(-1)
    return 100 * quotient(covariance, root((1 - (true**2).sum(-1)) * (1 - (predicted**2).sum(-1))))
