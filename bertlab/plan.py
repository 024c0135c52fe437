"""Studies x scale x seeds to jobs: each distinct job once, in the order in which they are run.

A plan is made without training anything and without importing torch: sources and tasks are named by the hash of what
they contain, recipes by their science, and what the store has already is marked as done.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput, unknown
from bertlab.identity import canonical
from bertlab.jobs import Job, Measure, PrepareCorpus, Pretrain, needs
from bertlab.machine import Machine
from bertlab.recipe import Corpus, Features, Finetuning, Recipe, Tokenizer
from bertlab.scales import Scale
from bertlab.store import Store, digest
from bertlab.study import Measurement, Study, Task
from bertlab.tasks import catalog, metrics
from bertlab.tasks import data as task_data
from bertlab.text import sources

SCRATCH = "no pre-training"
"""The name of the row that `--scratch` adds."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a user asks for."""

    studies: tuple[Study, ...]
    scale: Scale
    corpora: tuple[str, ...] = ()
    """Names or paths; empty for those of the scale."""
    vocabulary: Path | None = None
    """A `vocab.txt` to use instead of training one."""
    substitutes: Mapping[str, str] = field(default_factory=dict)
    """Data sets measured in place of a task's own."""
    seeds: int = 1
    restarts: int = 0
    """Fine-tuning seeds within a pre-training; 0 for the scale's."""
    only: tuple[str, ...] = ()
    """Rows to run; empty for all."""
    scratch: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.seeds <= 1000:
            raise BadInput(f"--seeds is {self.seeds}: give 1 to 1,000")
        if not 0 <= self.restarts <= 1000:
            raise BadInput(f"--restarts is {self.restarts}: give 1 to 1,000")


@dataclass(frozen=True)
class Cell:
    """One measured value of a study: a row, a column and its seeds, and the job that measures it."""

    study: Study
    variant: str
    measurement: Measurement
    job: Measure


@dataclass(frozen=True)
class Plan:
    """What a request comes to."""

    request: Request
    corpora: tuple[str, ...]
    world: bool
    """Whether the tasks are those of the embedded world."""
    cells: tuple[Cell, ...]
    jobs: tuple[Job, ...]
    """Distinct jobs, each after those that it needs."""
    asked: int
    """Jobs that the cells ask for when nothing is shared."""

    def pending(self, store: Store) -> list[Job]:
        """The jobs of this plan that the store does not have yet."""
        done = {run.id for run in store.runs()}
        return [job for job in self.jobs if job.id not in done]

    def records(self, command: str) -> dict[str, dict[str, Any]]:
        """For each study what a report needs to know of this plan, by the name it is kept under."""
        kept = {}
        for study in self.request.studies:
            cells = [cell for cell in self.cells if cell.study.name == study.name]
            record = self._record(study, cells, command)
            setting = canonical([self.request.scale, self.corpora, dict(self.request.substitutes)])
            mark = hashlib.sha256(setting.encode()).hexdigest()[:8]
            kept[f"{study.name}--{self.request.scale.name}--{mark}"] = record
        return kept

    def _record(self, study: Study, cells: list[Cell], command: str) -> dict[str, Any]:
        pretrained = {cell.job.pretrain.id: cell for cell in cells}
        return {
            "study": study.name,
            "question": study.question,
            "source": study.source,
            "baseline": study.baseline,
            "notes": list(study.notes),
            "scale": self.request.scale.name,
            "command": command,
            "corpus": list(self.corpora),
            "world": self.world,
            "substitutes": dict(self.request.substitutes),
            "positions": self.request.scale.recipe.model.positions,
            "rows": [
                {"variant": cell.variant, "pretrain_seed": cell.job.pretrain.recipe.seed, "pretrain_id": run_id}
                for run_id, cell in pretrained.items()
            ],
            "cells": [
                {
                    "variant": cell.variant,
                    "measurement": cell.measurement.name,
                    "task": cell.job.data.asked,
                    "dataset": cell.job.data.task.dataset,
                    "split": cell.job.data.task.evaluation,
                    "method": cell.measurement.method,
                    "metric": cell.measurement.metric,
                    "milestone": 100,
                    "pretrain_seed": cell.job.pretrain.recipe.seed,
                    "restart": cell.job.restart,
                    "pretrain_id": cell.job.pretrain.id,
                    "run_id": cell.job.id,
                    "published": study.published.get((cell.variant, cell.measurement.name)),
                }
                for cell in cells
            ],
        }


def make(request: Request, machine: Machine) -> Plan:
    """The plan of a request. Reads and hashes what it names; raises `BadInput` for what cannot be."""
    names = request.corpora or request.scale.corpus
    located = tuple(sources.resolve(name, machine=machine) for name in names)
    world = all(each.origin == "microworld" for each in located)
    corpus = Corpus(sources=tuple(each.source for each in located), heldout=request.scale.recipe.corpus.heldout)
    base = dataclasses.replace(request.scale.recipe, corpus=corpus)
    if request.vocabulary is not None:
        base = dataclasses.replace(base, tokenizer=_given(base, request.vocabulary))
    for name in request.substitutes:
        used = [_task(each.task).name for study in request.studies for each in study.measurements]
        if name not in used:
            raise unknown("task in --substitute", name, sorted(set(used)))
    tasks: dict[Task, tuple[task_data.Located, str]] = {}
    cells = []
    for study in request.studies:
        for variant, recipe in _rows(study, base, request):
            for seed in range(request.seeds):
                pretrain = Pretrain(
                    dataclasses.replace(recipe, seed=seed),
                    PrepareCorpus(recipe.corpus, recipe.tokenizer, located, request.vocabulary),
                    f"{study.name}-{variant}",
                    request.scale.milestones,
                )
                for measurement in study.measurements:
                    task = _task(measurement.task)
                    if task not in tasks:
                        substitute = request.substitutes.get(task.name)
                        found = task_data.locate(task, machine=machine, world=world, substitute=substitute)
                        tasks[task] = found, task_data.content_of(found, machine)
                    if measurement.metric not in metrics.NAMES[task.kind]:
                        what = f"metric of a {task.kind} task in measurement '{measurement.name}'"
                        raise unknown(what, measurement.metric, metrics.NAMES[task.kind])
                    settings = _settings(request.scale, measurement, tasks[task][0].task)
                    for restart in range(request.restarts or request.scale.restarts):
                        name = f"{study.name}-{variant}-{measurement.name}"
                        job = Measure(pretrain, *tasks[task], settings, restart, name)
                        cells.append(Cell(study, variant, measurement, job))
    return Plan(
        request=request,
        corpora=tuple(each.source.name for each in located),
        world=world,
        cells=tuple(cells),
        jobs=_in_order([cell.job for cell in cells]),
        asked=len(cells) + len({(c.study.name, c.variant, c.job.pretrain.recipe.seed) for c in cells}),
    )


def _settings(scale: Scale, measurement: Measurement, task: Task) -> Finetuning | Features:
    if measurement.method == "features":
        return scale.features
    return scale.tagging if task.kind == "tagging" else scale.finetune


def _rows(study: Study, base: Recipe, request: Request) -> list[tuple[str, Recipe]]:
    for name in request.only:
        if name != SCRATCH and all(name not in (v.name for v in each.variants) for each in request.studies):
            raise unknown("variant", name, [v.name for each in request.studies for v in each.variants])
    rows = [
        (variant.name, study.recipe(variant, base))
        for variant in study.variants
        if not request.only or variant.name in request.only
    ]
    if request.scratch or SCRATCH in request.only:
        baseline = study.recipe(study.variant(study.baseline), base)
        rows.append((SCRATCH, dataclasses.replace(baseline, schedule=dataclasses.replace(base.schedule, steps=0))))
    return rows


def _in_order(measures: Sequence[Job]) -> tuple[Job, ...]:
    """Corpora first; then each pre-training, followed at once by what is measured on it."""
    found: dict[str, Job] = {}

    def add(job: Job) -> None:
        for needed in needs(job):
            add(needed)
        found.setdefault(job.id, job)

    for measure in measures:
        add(measure)
    order = {id_: number for number, id_ in enumerate(found)}
    trained = {id_: number for number, id_ in enumerate(found) if isinstance(found[id_], Pretrain)}

    def place(job: Job) -> tuple[int, int]:
        if isinstance(job, PrepareCorpus):
            return (-1, order[job.id])
        return (trained[job.pretrain.id if isinstance(job, Measure) else job.id], order[job.id])

    return tuple(sorted(found.values(), key=place))


def _task(named: str | Task) -> Task:
    return named if isinstance(named, Task) else catalog.find(named)


def _given(base: Recipe, vocabulary: Path) -> Tokenizer:
    if not vocabulary.is_file():
        raise BadInput(f"vocabulary '{vocabulary}' does not exist: give the path of a vocab.txt")
    return dataclasses.replace(base.tokenizer, given=f"sha256:{digest(vocabulary)}")
