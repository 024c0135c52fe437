"""Classification of a text or a pair of texts from [CLS], as in BERT section 4.1: [CLS] A [SEP] B [SEP]."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks import lexical
from bertlab.tasks.examples import Examples, Floats, Integers, Numbers
from bertlab.tasks.kinds.base import LIKELIHOOD, Arrays, Predicted, TaskKind, likelihood
from bertlab.tasks.metrics import Mean, Metric, MetricOfMeans, f1_points, quotient, root
from bertlab.tasks.raw import RawExamples, Splits, TaskData, texts
from bertlab.tasks.task import Task

if TYPE_CHECKING:
    from torch import Tensor

    from bertlab.text.tokenizers.base import TrainedTokenizer


class Classification(TaskKind):
    """A label for a text or a pair of texts."""

    name = "classification"
    columns = range(1, 3)
    metrics = ("accuracy", "matthews", "f1")
    labelled = True

    def check(self, task: Task, names: tuple[str, ...], values: list[list[list[Any]]], places: list[str]) -> Splits:
        """Labels are texts, or whole numbers from 0; see `TaskKind.check`."""
        where = [f"{place} column {task.label}" for place in places]
        names = names or label_names([columns[-1] for columns in values], where)
        splits = []
        for columns, place, at in zip(values, places, where, strict=True):
            found = labels(columns[-1], names, at)
            splits.append(RawExamples(text=texts(task.text, columns[:-1], place), labels=found.tolist()))
        if len(names) < 2:
            raise BadInput(f"{where[0]} has the label {shown(names[0])} alone: a task needs at least two")
        return names, splits

    def known(self, labels: Sequence[str]) -> tuple[str, ...]:
        """F1 is that of the second of two classes; more classes have none."""
        return self.metrics if len(labels) in (0, 2) else ("accuracy", "matthews")

    def encode(
        self,
        raw: RawExamples,
        tokenizer: TrainedTokenizer,
        length: int,
        *,
        training: bool = False,
        options: Collection[str] = (),
    ) -> Examples:
        """[CLS] A [SEP] or [CLS] A [SEP] B [SEP]."""
        return examples(raw.text, np.array(raw.labels), tokenizer, length)

    def logits(self, model: Any, batch: Mapping[str, Tensor]) -> Tensor:
        """(B, 1, C)."""
        return super().logits(model, batch).unsqueeze(1)

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Floats, threshold: float | None = None
    ) -> Predicted:
        """The most probable label of each example."""
        return likeliest(scores, examples.targets)

    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """The most frequent label of the training examples."""
        return most_frequent(train.targets, examples.targets)

    def lexical(
        self,
        data: TaskData,
        train: RawExamples,
        evaluated: Sequence[RawExamples],
        used: int = lexical.FEATURES + lexical.COUNTS,
    ) -> list[Arrays]:
        """A logistic regression on the first `used` of `lexical.features`."""
        model = lexical.fit_classifier(lexical.features(train.text)[:, :used], np.array(train.labels))
        return [
            {"prediction": model.predict(lexical.features(raw.text)[:, :used]), "label": np.array(raw.labels)}
            for raw in evaluated
        ]

    def metric(self, name: str, arrays: Arrays, labels: Sequence[str] = ()) -> Metric:
        """Accuracy; Matthews correlation of any number of classes; F1 of the second of two."""
        if name == LIKELIHOOD:
            return likelihood(arrays)
        if name not in self.metrics:
            raise self.unknown_metric(name)
        prediction, label = arrays["prediction"], arrays["label"]
        if name == "accuracy":
            return accuracy(prediction, label)
        return f1(prediction, label) if name == "f1" else matthews(prediction, label)


def likeliest(scores: Floats, targets: Integers) -> Predicted:
    """The label with the highest of the logits (E, C) of each example."""
    from scipy.special import log_softmax

    prediction = scores.argmax(-1)
    return Predicted(
        arrays={
            "prediction": prediction,
            "label": targets,
            LIKELIHOOD: log_softmax(scores, -1)[np.arange(len(targets)), targets],
        },
        collapsed=bool((prediction == prediction[0]).all()),
    )


def most_frequent(train: Integers, targets: Integers) -> Arrays:
    """The most frequent label of the training examples (the first of equals) for every example."""
    return {"prediction": np.full_like(targets, int(np.bincount(train).argmax())), "label": targets}


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
    numbers: dict[int, str] = {}  # each with the first row that contains it
    names: dict[str, str] = {}
    for values, place in zip(columns, where, strict=True):
        for row, value in enumerate(values, start=1):
            number = _whole(value)
            if number is not None and 0 <= number < 1000:
                numbers.setdefault(number, f"{place} row {row}")
            elif isinstance(value, str) and number is None:
                names.setdefault(value, f"{place} row {row}")
            else:
                raise BadInput(f"label {shown(value)} in {place} row {row}: give texts, or whole numbers from 0 to 999")
    if numbers and names:
        (number, here), (name, there) = next(iter(numbers.items())), next(iter(names.items()))
        raise BadInput(f"labels mix numbers and texts ({number} in {here}, {shown(name)} in {there}): use one kind")
    return tuple(sorted(names)) or tuple(str(number) for number in range(max(numbers, default=-1) + 1))


def labels(values: Sequence[Any], names: tuple[str, ...], where: str) -> Integers:
    """The labels of a split, (E,), each given as a name or an integer; `BadInput` names the row of a wrong one."""
    known = {name: number for number, name in enumerate(names)}
    found = np.empty(len(values), np.int64)
    for row, value in enumerate(values):
        number = known.get(value) if isinstance(value, str) else None
        number = _whole(value) if number is None else number
        if number is None or not 0 <= number < len(names):
            allowed = ", ".join(name if name == str(at) else f"{at} ({name})" for name, at in known.items())
            raise BadInput(f"label {shown(value)} in {where} row {row + 1}: give one of {allowed}")
        found[row] = number
    return found


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        digits = value.strip()
        return int(digits) if digits.removeprefix("-").isdecimal() and len(digits) < 10 else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return int(value) if isinstance(value, bool) else None
    return int(value) if abs(value) < 1e9 and int(value) == value else None


def truncated(first: int, second: int, budget: int) -> tuple[int, int]:
    """The lengths of a pair truncated to `budget` tokens, always at the end of the longer segment."""
    if first + second <= budget:
        return first, second
    half = budget // 2  # of equally long segments the second is truncated, so the first keeps the odd token
    if second <= half:
        return budget - second, second
    if first <= budget - half:
        return first, budget - first
    return budget - half, half


def examples(text: Sequence[Sequence[str]], labels: Numbers, tokenizer: TrainedTokenizer, length: int) -> Examples:
    """Encodes one or two text columns, truncated to `length` tokens per sequence; the target is at [CLS]."""
    pairs = len(text) == 2
    columns = [tokenizer.encode(column) for column in text]
    sequences: list[list[int]] = []
    second_starts = np.empty(len(labels), np.int32)
    for row in range(len(labels)):
        first = columns[0][row]
        second = columns[1][row] if pairs else []
        keep, keep_second = truncated(len(first), len(second), length - (3 if pairs else 2))
        second_starts[row] = keep + 2
        tail = [*second[:keep_second], tokenizer.sep] if pairs else []
        sequences.append([tokenizer.cls, *first[:keep], tokenizer.sep, *tail])
    return Examples.of(
        sequences,
        second_starts=second_starts,
        positions=[np.zeros(1, np.int32)] * len(sequences),
        targets=labels,
        owners=np.arange(len(sequences)),
        pad=tokenizer.pad,
        raw_count=len(sequences),
    )
