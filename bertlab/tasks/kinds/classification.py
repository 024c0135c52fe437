"""Classification of a text or a pair of texts from [CLS], as in BERT section 4.1."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks.examples import Floats, Integers
from bertlab.tasks.kinds.base import Arrays, TaskKind
from bertlab.tasks.metrics import Mean, Metric, MetricOfMeans, f1_points, percentage, quotient, root
from bertlab.tasks.task import Table, Task


class Classification(TaskKind):
    """A label for a text or a pair of texts."""

    name = "classification"
    metrics = ("accuracy", "matthews", "f1", "macro_f1", "exact")
    of_questions = ("exact",)
    labelled = True

    def label_names(self, task: Task, tables: Sequence[Table]) -> tuple[str, ...]:
        """Two labels at least: those of the task or of its source, else the sorted texts or the integers in the data.
        Raises `BadInput` for other values, such as the scores of a regression."""
        names = task.labels or tables[0].names
        found: set[Any] = set()
        for table in () if names else tables:
            for row, value in enumerate(table.columns[task.label], start=1):
                label = value if isinstance(value, str) else _whole(value)
                wrong = label is None or (isinstance(label, int) and not 0 <= label < 1000)
                if wrong or type(label) is not type(next(iter(found), label)):
                    given = f"label {shown(value)} in {table.where(task.label)} row {row}"
                    raise BadInput(f"{given}: give texts alone, or whole numbers from 0 to 999 alone")
                found.add(label)
        if found:
            texts = all(isinstance(label, str) for label in found)
            names = tuple(sorted(found) if texts else map(str, range(max(found) + 1)))
        if len(names) < 2:
            place = tables[0].where(task.label)
            raise BadInput(f"{place} has the label {shown(names[0])} alone: a task needs at least two")
        return names

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[int]:
        """Labels are texts, or whole numbers from 0."""
        return labels(table.columns[task.label], names, table.where(task.label))

    def known(self, labels: Sequence[str]) -> tuple[str, ...]:
        """F1 is that of the second of two classes; more classes have the mean of theirs, macro F1."""
        lacks = {0: "", 2: "macro_f1"}.get(len(labels), "f1")
        return tuple(each for each in self.metrics if each != lacks)

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
            each = np.arange(1 + max(int(prediction.max()), int(label.max())))
            predicted, true = (values[:, None] == each for values in (prediction, label))
            return MetricOfMeans(np.concatenate([predicted & true, predicted, true], -1).astype(np.float64), _macro_f1)
        if name == "exact":
            return exact(prediction == label, arrays["question"])
        if name != "matthews":
            raise self.unscored(name)
        classes = 1 + max(int(prediction.max()), int(label.max()))
        counts = np.zeros((len(label), classes * classes))
        counts[np.arange(len(label)), label * classes + prediction] = 1
        return MetricOfMeans(counts, partial(_matthews, classes))


def accuracy(prediction: Integers, label: Integers) -> Mean:
    """Accuracy in points."""
    return Mean(100.0 * (prediction == label))


def exact(right: npt.NDArray[np.bool_], question: Integers) -> MetricOfMeans:
    """The percentage of questions whose examples are all right. The first example of a question counts for it."""
    _, first, number = np.unique(question, return_index=True, return_inverse=True)
    statistics = np.zeros((len(right), 2))
    statistics[first, 0] = np.bincount(number, ~right) == 0
    statistics[first, 1] = 1
    return MetricOfMeans(statistics, percentage)


def _macro_f1(means: Floats) -> Floats:
    """The mean F1 of classes in points, from the means of true positives, predicted positives and positives (..., 3 C).
    As in scikit-learn, a class that is neither predicted nor present does not count."""
    both, predicted, true = np.split(means, 3, axis=-1)
    counted = (predicted + true > 0).sum(-1).astype(np.float64)
    return 200 * quotient(quotient(both, predicted + true).sum(-1), counted)


def _matthews(classes: int, means: Floats) -> Floats:
    """Gorodkin's R of a confusion matrix (label, prediction), in points; for two classes, Matthews correlation. 0 if
    all predictions or all labels are the same."""
    table = means.reshape(*means.shape[:-1], classes, classes)
    true, predicted = table.sum(-1), table.sum(-2)
    covariance = np.trace(table, axis1=-2, axis2=-1) - (true * predicted).sum(-1)
    return 100 * quotient(covariance, root((1 - (true**2).sum(-1)) * (1 - (predicted**2).sum(-1))))


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
