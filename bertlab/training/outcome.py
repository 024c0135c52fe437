"""The outcome of a measurement: the metrics of a task, its floors, and the predictions that paired tests compare."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab import keyed
from bertlab.tasks import kinds
from bertlab.tasks.examples import Examples, Floats
from bertlab.tasks.task import RawExamples, TaskData


@dataclass(frozen=True, kw_only=True)
class EvalResult:
    """The results of a model on the examples of one split."""

    examples: int
    """Their number."""
    metrics: dict[str, float]
    """In points."""
    majority: dict[str, float]
    """The same metrics of the best constant guess from the training examples."""
    predictions: dict[str, npt.NDArray[Any]]
    """Those of `TaskKind.predict`, in 32 bits; and the `group` of each example, where examples depend on each other."""
    collapsed: bool
    """Whether all predictions are the same."""
    exchanged: dict[str, float] | None = None
    """The same metrics where one of two texts is another example's, see `exchanged`; None without a second text."""
    threshold: float | None = None
    """The score above which an answer is given, where questions may have none."""


@dataclass(frozen=True, kw_only=True)
class Outcome(EvalResult):
    """The results of a measurement on the evaluation split and, if the task has one, on the test split."""

    test: EvalResult | None = None
    curve: list[dict[str, float]]
    """`step` and the mean training `loss` since the point before (nats)."""
    steps: int
    train_examples: int
    trained_parameters: int


def outcome(
    data: TaskData,
    train: Examples,
    evaluated: Sequence[Examples],
    scores: Sequence[Floats],
    curve: list[dict[str, float]],
    steps: int,
    trained_parameters: int,
) -> Outcome:
    """Evaluates the logits, (W, C), of the evaluation split and of the test split, if any."""
    found = evaluate(data, data.evaluation, train, evaluated[0], scores[0])
    test = None if data.test is None else evaluate(data, data.test, train, evaluated[1], scores[1], found.threshold)
    return Outcome(
        **vars(found),
        test=test,
        curve=curve,
        steps=steps,
        train_examples=train.raw_count,
        trained_parameters=trained_parameters,
    )


EXCHANGED = 1_000
"""Examples at most whose second text is exchanged."""


def exchanged(data: TaskData, rows: RawExamples) -> RawExamples | None:
    """The first `EXCHANGED` examples, one text of each another example's: a floor that a model reaches on the other.

    It is the second of two texts, the question about a context, the context of several endings. None for one text.
    """
    if len(rows.text) < 2 or len(rows) < 2:
        return None
    rows = rows.take(np.arange(min(EXCHANGED, len(rows))))
    column = kinds.find(data.kind).exchanged
    order = keyed.permutation(keyed.key("exchanged"), len(rows))
    other = np.empty_like(order)
    other[order] = np.roll(order, 1)  # each has another's, none its own
    text = [each if at != column else [each[row] for row in other] for at, each in enumerate(rows.text)]
    return dataclasses.replace(rows, text=tuple(text))


def evaluate(
    data: TaskData,
    rows: RawExamples,
    train: Examples,
    evaluated: Examples,
    scores: Floats,
    threshold: float | None = None,
) -> EvalResult:
    """The results of logits (W, C) on a split; a `threshold` that the kind needs and that is None is chosen on it."""
    kind = kinds.find(data.kind)
    found = kind.predict(data, rows, evaluated, scores, threshold)
    arrays = found.arrays
    if rows.groups is not None and len(np.unique(rows.groups)) < len(rows.groups):
        arrays = arrays | {"group": rows.groups}
    return EvalResult(
        examples=evaluated.raw_count,
        metrics=kind.values(found.arrays, data.labels),
        majority=kind.values(kind.majority(data, rows, train, evaluated), data.labels),
        predictions={name: _kept(values) for name, values in arrays.items()},
        collapsed=found.collapsed,
        threshold=found.threshold,
    )


def _kept(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return values.astype(np.float32 if np.issubdtype(values.dtype, np.floating) else np.int32)
