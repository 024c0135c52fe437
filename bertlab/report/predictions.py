"""Effects between the rows of a study, out of the predictions that its finished runs left."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bertlab.report.statistics import measures
from bertlab.report.statistics.effects import Effect, Runs, effect
from bertlab.report.statistics.measures import Mean, Measure
from bertlab.store.runs import Run

if TYPE_CHECKING:
    from bertlab.report.cells import Cell
    from bertlab.report.evidence import Evidence

LIKELIHOOD = "log_likelihood"
"""The measure beside every metric of labels and answers: nats that the right one is given, a mean over examples."""


@dataclass(frozen=True, eq=False)
class Judged:
    """What a run comes to."""

    measure: Measure
    examples: tuple[bytes, ...]
    """The right answers: runs with the same ones can be paired example by example."""


class Predictions:
    """The predictions of a store; each run is read once."""

    def __init__(self, runs: Mapping[str, Run]) -> None:
        self.runs = runs
        self.read: dict[tuple[str, str, str], Judged | None] = {}

    def effect(
        self,
        evidence: Evidence,
        row: str,
        other: str,
        measurement: str,
        *,
        metric: str = "",
        at: tuple[int, int] = (100, 100),
        without: Collection[int] = (),
    ) -> Effect | None:
        """`row` minus `other` on a column, by its own metric or by `LIKELIHOOD`; None without a seed in common.

        `at` is the per cent of the pre-training's steps after which each of the two is measured, `without` are seeds to
        leave out.

        Where predictions are missing or are of different examples, and for what is read off the pre-training, the
        values of the runs are paired by seed alone: the interval is then for these examples, as if there were no
        others, and there is no likelihood.
        """
        one, two = (
            [
                cell
                for cell in evidence.at(name, measurement, each)
                if cell.value is not None and evidence.seed_of(cell) not in without
            ]
            for name, each in zip((row, other), at, strict=True)
        )
        return contrast((evidence, one), (evidence, two), metric)

    def judged(self, cell: Cell, metric: str) -> Judged | None:
        """What the run of a cell comes to by `metric`; None if that cannot be told from its predictions."""
        key = (cell.run_id, cell.split, metric)
        if key not in self.read:
            self.read[key] = _read(self.runs[cell.run_id], cell, metric) if cell.run_id in self.runs else None
        return self.read[key]


def contrast(
    row: tuple[Evidence, Sequence[Cell]], other: tuple[Evidence, Sequence[Cell]], metric: str = ""
) -> Effect | None:
    """Cells with a value minus others, which may be of another store, as `Predictions.effect` has it."""
    sides = [
        (each, cells, {cell.run_id: each.predictions.judged(cell, metric or cell.metric) for cell in cells})
        for each, cells in (row, other)
    ]
    judged = [each for _, _, found in sides for each in found.values()]
    if len({each and each.examples for each in judged}) == 1 and None not in judged:
        one, two = (_by_seed(*each) for each in sides)
    elif metric in ("", *(cell.metric for _, cells, _ in sides for cell in cells)):
        one, two = (_by_seed(each, cells, {}) for each, cells, _ in sides)
    else:
        return None
    return effect(one, two)


def _by_seed(evidence: Evidence, cells: Iterable[Cell], judged: dict[str, Judged | None]) -> Runs:
    """The measures of a row, by seed; of runs that are not `judged` the value alone."""
    found: dict[int, list[Measure]] = {}
    for cell in cells:
        known = judged.get(cell.run_id)
        value = Mean(np.array([cell.value], np.float64)) if known is None else known.measure
        found.setdefault(evidence.seed_of(cell), []).append(value)
    return found


def _read(run: Run, cell: Cell, metric: str) -> Judged | None:
    """None if the run has no predictions, or not of this metric, or if they do not give the value that it reports."""
    path = run.path / "predictions.npz"
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    if run.result().get("split", cell.split) != cell.split:
        arrays = {name.removeprefix("test_"): each for name, each in arrays.items() if name.startswith("test_")}
    task = run.science()["task"]
    try:
        measure = measures.of(task["kind"], metric, arrays, task["labels"] or _tags(arrays))
    except (KeyError, ValueError):
        return None
    value = float(measure.contributions().mean())
    # Tags that neither the task nor the BIO order names would be read wrongly: the reported value tells.
    if metric == cell.metric and not math.isclose(value, cell.value or 0.0, rel_tol=1e-4, abs_tol=1e-4):
        return None
    right = [arrays[name] for name in ("label", "sentence", "group") if name in arrays]
    return Judged(measure, (str(measure.examples).encode(), *(each.tobytes() for each in right)))


def _tags(arrays: dict[str, npt.NDArray[Any]]) -> list[str]:
    """Tags in the order that a task without names gives them: O, then B and I of each type."""
    most = max((int(arrays[name].max()) for name in ("prediction", "label") if name in arrays), default=0)
    return ["O", *(f"{position}-{kind}" for kind in range((most + 1) // 2) for position in "BI")]
