"""Effects between the rows of a study, out of the predictions that its finished runs left."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bertlab.report.cells import Cell
from bertlab.report.statistics import measures
from bertlab.report.statistics.effects import Effect, Runs, effect
from bertlab.store.runs import Run
from bertlab.tasks.kinds.base import LIKELIHOOD as LIKELIHOOD
from bertlab.tasks.metrics import Mean, Metric


@dataclass(frozen=True, eq=False)
class Judged:
    """What a run comes to."""

    metric: Metric
    examples: tuple[bytes, ...]
    """The right answers: runs with the same ones can be paired example by example."""


class Predictions:
    """The predictions of a store; each run is read once."""

    def __init__(self, runs: Mapping[str, Run]) -> None:
        self.runs = runs
        self.read: dict[tuple[str, str, str], Judged | None] = {}

    def effect(
        self, row: Mapping[int, Sequence[Cell]], other: Mapping[int, Sequence[Cell]], metric: str = ""
    ) -> Effect | None:
        """`row` minus `other`, both cells with a value by seed; None without a seed in common.

        By the cells' own metric, or by `metric` (`LIKELIHOOD`). Where predictions are missing or are of different
        examples, and for what is read off the pre-training, the values of the runs are paired by seed alone: the
        interval is then for these examples, as if there were no others, and there is no likelihood.
        """
        cells = [cell for side in (row, other) for each in side.values() for cell in each]
        judged = {cell.run_id: self.judged(cell, metric or cell.metric) for cell in cells}
        examples = {None if each is None else each.examples for each in judged.values()}
        if len(examples) != 1 or None in examples:
            if metric not in ("", *(cell.metric for cell in cells)):
                return None
            judged = {}
        return effect(_metrics(row, judged), _metrics(other, judged))

    def judged(self, cell: Cell, metric: str) -> Judged | None:
        """What the run of a cell comes to by `metric`; None if that cannot be told from its predictions."""
        key = (cell.run_id, cell.split, metric)
        if key not in self.read:
            self.read[key] = _read(self.runs[cell.run_id], cell, metric) if cell.run_id in self.runs else None
        return self.read[key]


def _metrics(cells: Mapping[int, Sequence[Cell]], judged: Mapping[str, Judged | None]) -> Runs:
    """The metric of each run by seed; of runs that are not `judged` the value alone."""
    return {
        seed: [
            Mean(np.array([cell.value], np.float64)) if known is None else known.metric
            for cell in each
            for known in (judged.get(cell.run_id),)
        ]
        for seed, each in cells.items()
    }


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
        found = measures.of(task["kind"], metric, arrays, task["labels"])
    except (KeyError, ValueError):
        return None
    value = found.value
    # Tags that neither the task nor the BIO order names would be read wrongly: the reported value tells.
    if metric == cell.metric and not math.isclose(value, cell.value or 0.0, rel_tol=1e-4, abs_tol=1e-4):
        return None
    right = [arrays[name] for name in ("label", "sentence", "group") if name in arrays]
    return Judged(found, (str(found.examples).encode(), *(each.tobytes() for each in right)))
