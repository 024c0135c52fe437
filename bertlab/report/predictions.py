"""Effects between the variants of a study, from the predictions of its finished runs."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np

from bertlab.errors import BadInput, warn
from bertlab.machine import Machine
from bertlab.recipe.identity import load
from bertlab.report.cells import Cell
from bertlab.report.statistics.effects import Effect, effect
from bertlab.report.statistics.noise import Contributions
from bertlab.store import predictions
from bertlab.store.run import Run
from bertlab.tasks.data import local_texts, synthetic_texts
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.kinds.scoring import LIKELIHOOD as LIKELIHOOD
from bertlab.tasks.metrics import Mean, Metric
from bertlab.tasks.task import Task

BySeed = Mapping[int, Sequence[Cell]]
"""Cells with a value, by seed."""
Scored = tuple[Metric, tuple[bytes, ...]]
"""A metric of the predictions of a run, and the right answers: equal answers can be paired example by example."""


class Predictions:
    """The predictions of a store; each run is read once. `machine` knows where local copies of tasks are."""

    def __init__(self, runs: Mapping[str, Run], machine: Machine | None = None) -> None:
        self.runs, self.machine = runs, machine
        self.read: dict[tuple[str, str, str], Scored | None] = {}
        self._local: dict[tuple[str, str, int], tuple[str, ...]] = {}

    def texts(self, cell: Cell) -> tuple[str, ...]:
        """The texts of the examples of a cell, with their answers; none unless they are synthetic or local.

        A kind of task that a study file defines is not known here: its examples have none.
        """
        definition = self.runs[cell.run_id].definition()
        content, most = str(definition.get("data", "")), int(definition.get("settings", {}).get("max_eval_examples", 0))
        key = content, cell.split, most
        texts = synthetic_texts(*key)
        if texts or self.machine is None:
            return texts
        if key not in self._local:
            self._local[key] = ()
            with suppress(BadInput):
                task = load(Task, {**definition.get("task", {}), "dataset": cell.dataset})
                self._local[key] = local_texts(task, *key, self.machine)
        return self._local[key]

    def effect(self, *sides: BySeed, metric: str = "") -> Effect | None:
        """The first minus the second, or the contrast of four (see `effects.effect`); None without a common seed.

        By the cells' own metric, or by `metric` (`LIKELIHOOD`). Where predictions are missing or are of different
        examples, and for metrics of the pre-training, the values of the runs are paired by seed alone: the interval
        then holds for these examples only, and there is no likelihood.
        """
        metrics = self._metrics(sides, metric)
        return None if metrics is None else effect(*metrics)

    def contributions(self, variants: Sequence[BySeed], metric: str = "") -> list[Contributions] | None:
        """The contribution of each example to each run of the variants; without predictions, as in `effect`."""
        metrics = self._metrics(variants, metric)
        if metrics is None:
            return None
        return [
            {
                seed: {cell.finetune_seed: run.contributions() for cell, run in zip(cells, runs[seed], strict=True)}
                for seed, cells in variant.items()
            }
            for variant, runs in zip(variants, metrics, strict=True)
        ]

    def _metrics(self, sides: Sequence[BySeed], metric: str) -> list[dict[int, list[Metric]]] | None:
        """The metrics of the cells' predictions, or of their values alone; None if the values are of another metric."""
        every = [cell for side in sides for cells in side.values() for cell in cells]
        scored = {cell.run_id: self.scored(cell, metric or cell.metric) for cell in every if cell.run_id}
        metrics = {run_id: scores[0] for run_id, scores in scored.items() if scores}
        if len(metrics) < len(scored) or len({scores[1] for scores in scored.values() if scores}) != 1:
            if metric not in ("", *(cell.metric for cell in every)):
                return None
            metrics = {}
        size = next((measured.examples for measured in metrics.values()), 1)

        def of(cell: Cell) -> Metric:  # a floor has no predictions
            return metrics.get(cell.run_id) or Mean(np.full(size, cell.value, np.float64))

        return [{seed: [*map(of, cells)] for seed, cells in side.items()} for side in sides]

    def scored(self, cell: Cell, metric: str) -> Scored | None:
        """The `metric` of the run of a cell; None if its predictions do not give it."""
        if metric == LIKELIHOOD and cell.kind in KINDS:
            metric = KINDS[cell.kind].likelihood_of(cell.metric)
        key = (cell.run_id, cell.split, metric)
        if key not in self.read:
            self.read[key] = _read(self.runs[cell.run_id], cell, metric) if cell.run_id in self.runs else None
        return self.read[key]


def _read(run: Run, cell: Cell, metric: str) -> Scored | None:
    """The metric of a run's predictions; None, with a warning, if they are of another form."""
    try:
        return _scored(run, cell, metric)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:  # of a run from elsewhere
        if not isinstance(error, KeyError):  # predictions without this metric
            warn(f"predictions of '{run.path}' are not used ({error})")
        return None


def _scored(run: Run, cell: Cell, metric: str) -> Scored | None:
    """The metric; None without predictions of it, and where they do not give the value that the run reports."""
    arrays = predictions.read(run)
    if not arrays:
        return None
    if run.result().split not in ("", cell.split):
        arrays = {name.removeprefix("test_"): array for name, array in arrays.items() if name.startswith("test_")}
    task = run.definition()["task"]
    contributions = arrays.get(f"metric_{metric}")
    try:
        if contributions is not None:  # they need no kind, which may be of a study file
            scores: Metric = Mean(contributions)
        else:
            scores = KINDS[task["kind"]].metric(metric, arrays, task["labels"])
    except (KeyError, ValueError):
        return None
    # The value differs where neither the task nor the BIO order names the tags.
    if metric == cell.metric and not math.isclose(scores.value, cell.value or 0.0, rel_tol=1e-4, abs_tol=1e-4):
        return None
    right = [arrays[name] for name in predictions.RIGHT if name in arrays]
    return scores, (str(scores.examples).encode(), *(array.astype(np.int64).tobytes() for array in right))
