"""The outcome of a measurement: the metrics of a task, its floors, and the predictions that paired tests compare."""

import dataclasses
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
        predictions={
            name: values.astype(np.float32 if values.dtype.kind == "f" else np.int32) for name, values in arrays.items()
        },
        collapsed=found.collapsed,
        threshold=found.threshold,
    )
