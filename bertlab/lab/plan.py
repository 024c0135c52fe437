"""Plans: the distinct jobs of studies at a scale over seeds, in the order in which they run.

Planning trains nothing and does not import torch. It hashes texts and tasks, so that a plan shows which jobs the store
has already finished.
"""

import dataclasses
import gc
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import itemgetter

from bertlab.errors import BadInput, at, unknown
from bertlab.lab import scales
from bertlab.lab.jobs import Job
from bertlab.lab.jobs.evaluation import read_task
from bertlab.lab.jobs.lists import to_run
from bertlab.lab.request import Request as Request
from bertlab.lab.shared_inputs import SharedInputs
from bertlab.lab.study import DEFAULT_METRIC, location
from bertlab.lab.study_plan import Cell as Cell
from bertlab.lab.study_plan import StudyPlanner, check_metrics
from bertlab.machine import Machine
from bertlab.store.runs import Store
from bertlab.tasks import catalog, kinds
from bertlab.tasks.kinds.base import SETTINGS
from bertlab.text import filters


@dataclass(frozen=True)
class Plan:
    """The jobs of a request."""

    request: Request
    corpora: tuple[str, ...]
    text: str
    """The id of the corpus of all variants that do not change it."""
    world: bool
    """Whether the tasks are the synthetic ones."""
    cells: tuple[Cell, ...]
    jobs: tuple[Job, ...]
    """Distinct jobs, each after the jobs that it needs."""

    @property
    def pretrainings(self) -> tuple[int, int]:
        """How many pre-trainings the variants ask for, over studies and seeds, and how many of them are distinct."""
        asked = self._asked if self.request.pretrained is None else {}
        return len(asked), len({run_id for *_, run_id in asked})

    @cached_property
    def _asked(self) -> dict[tuple[str, str, str], Job]:
        """The pre-training of each value, and those of the other members of an ensemble, by study, variant and id."""
        return {
            (cell.study.name, cell.variant, model.id): model
            for cell in self.cells
            for model in (cell.pretraining, *cell.job.needs)
            if model.counted == cell.pretraining.counted
        }

    @property
    def steps(self) -> tuple[int, int]:
        """The updates of all pre-trainings, and how many of them are trained, as trunks are trained once."""
        trained = {run_id: model for (*_, run_id), model in self._asked.items()}
        trunks = [job for job in self.jobs if job.passing]
        alone = sum(job.first + job.steps for job in trained.values())
        return alone, sum(job.steps for job in (*trained.values(), *trunks))

    @cached_property
    def cells_of(self) -> Mapping[str, list[Cell]]:
        """The cells of each study by its name, in their order."""
        cells = defaultdict[str, list[Cell]](list)
        for cell in self.cells:
            cells[cell.study.name].append(cell)
        return cells

    def with_cells(self, cells: Iterable[Cell]) -> "Plan":
        """This plan with these cells, and the jobs that they need."""
        chosen = tuple(cells)
        return dataclasses.replace(self, cells=chosen, jobs=jobs_of(cell.job for cell in chosen))

    def pending(self, store: Store) -> list[Job]:
        """The jobs of this plan that are left to run."""
        return self.split(store)[1]

    def split(self, store: Store) -> tuple[list[Job], list[Job]]:
        """The jobs of this plan that the store has finished, and those that are left to run (see `to_run`)."""
        finished, left = self._split(frozenset(run.id for run in store.runs()))
        return [*finished], [*left]

    @cached_property
    def _split(self) -> Callable[[frozenset[str]], tuple[list[Job], list[Job]]]:
        """`split` by the ids of the finished runs of the store, which knows its last answer."""
        return lru_cache(1)(lambda done: ([job for job in self.jobs if job.id in done], to_run(self.jobs, done)))


@contextmanager
def without_collector() -> Iterator[None]:
    """Lets no garbage collector run: among millions of new jobs, which hold no cycles, it takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@without_collector()
def make(request: Request, machine: Machine) -> Plan:
    """The plan of a request. Reads and hashes corpora and tasks; raises `BadInput` for a request that cannot run."""
    if request.pretrained is not None and request.scale.recipe != scales.find(request.scale.name).recipe:
        groups = ", ".join(f"{group}." for group in (*scales.GROUPS, "tasks"))
        raise BadInput(f"--from: the pre-training is finished, so --set cannot change it: set only {groups}")
    shared = SharedInputs(request, machine)
    _check_tasks(request)
    planners = [StudyPlanner(shared, study) for study in request.studies]
    shared.share(recipe for planner in planners for _, recipe in planner.recipes)
    cells = [cell for planner in planners for cell in planner.cells()]
    _check_used(shared, machine)
    return Plan(
        request=request,
        corpora=tuple(located.source.name for located in shared.located),
        text=shared.corpus_job(shared.cleaned(shared.base(request.scale))).id,
        world=shared.world,
        cells=tuple(cells),
        jobs=jobs_of(cell.job for cell in cells),
    )


def _check_tasks(request: Request) -> None:
    """Raises `BadInput` if an option names a task that nothing measures."""
    measurements = [one for study in request.studies for one in request.measurements(study)]
    measured = sorted({catalog.find(measurement.task).name for measurement in measurements if measurement.task})
    options = {
        "substitute": request.substitutes,
        "intermediate-task": request.intermediate_task,
        "set tasks.": request.scale.given.keys() - set(SETTINGS),
    }
    for option, name in ((option, name) for option, names in options.items() for name in names):
        if name not in measured and name in catalog.TASKS:
            raise BadInput(f"--{option} '{name}': nothing measures this task; choose from {', '.join(measured)}")
        if name not in measured:
            raise unknown(f"task in --{option}", name, measured)


def _check_used(shared: SharedInputs, machine: Machine) -> None:
    """Raises `BadInput` if no job uses `--data` or a setting of `--set`. `BERTLAB_DATA` may be set without effect."""
    request, jobs = shared.request, shared.distinct
    recipes = [job.pretraining.recipe for job in jobs if job.pretraining and job.pretraining.recipe]
    if request.scale.recipe.corpus.annotator and not any(recipe.annotated for recipe in recipes):
        raise BadInput("--set corpus.annotator has no effect: no variant reads linguistic spans, leave it out")
    if request.keep and not any(job.keep for job in jobs):
        raise BadInput("--keep has no effect: no measurement trains, so there is nothing to keep; leave it out")
    if request.curves and all(one.trains for study in request.studies for one in request.measurements(study)):
        raise BadInput(
            "--curves has no effect: every measurement trains; add one that does not, such as --measure perplexity"
        )
    mixed = any(recipe.multitask.tasks for recipe in recipes)
    for path in (path for path in request.scale.assigned if path.startswith("multitask.") and not mixed):
        raise BadInput(f"--set {path} has no effect: no variant trains on tasks, leave it out")
    if request.bad_words and not any(recipe.corpus.bad_words for recipe in recipes):
        raise BadInput(filters.USELESS)
    if request.held_back:  # a trial of settings measures only the baseline
        return
    tasks = {id(task): task for job in jobs for task in job.tasks}.values()
    if machine.data is not None and os.environ.get("BERTLAB_DATA") != str(machine.data):
        folders = [part.folder for task in tasks for part in (task, *task.parts) if part.folder]
        paths = [*(path for located in shared.located for path in located.files), *folders]
        inside = any(machine.data.resolve() in path.resolve().parents for path in paths)
        if not inside and (shared.world or not tasks):
            raise BadInput(
                f"--data {machine.data} has no effect: neither text nor tasks come from there; name a corpus with "
                "--corpus, or leave it out"
            )
    used = {job.settings.group(kinds.find(job.tasks[0].task.kind)) for job in jobs if job.settings}
    for path in request.scale.assigned:
        if path.partition(".")[0] in set(scales.GROUPS) - used:
            raise BadInput(f"--set {path} has no effect: no measurement uses it, leave it out")


def check_data(plan: Plan, store: Store, machine: Machine) -> None:
    """Raises `BadInput` for a metric that does not fit the labels of a task, and for corpora without documents.

    It reads the examples. Of a corpus it knows the documents once it is prepared; later the training refuses it.
    """
    pending = {job.id for job in plan.pending(store)}
    prepared = {run.id: run for run in store.runs()}
    for job in plan.jobs:
        if job.id in pending:
            job.check_prepared(prepared)
    for cell in plan.cells:
        metrics = cell.study.metrics(cell.measurement)
        adaptation = cell.job.settings if cell.job.id in pending and metrics != [DEFAULT_METRIC] else None
        for data in cell.job.tasks[:1]:
            if adaptation and kinds.find(data.task.kind).labelled and not data.task.labels:
                with at(location(cell.study), f"measurement '{cell.measurement.name}'"):
                    check_metrics(data, cell.study, cell.measurement, read_task(data).labels, adaptation)


def jobs_of(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """The jobs and those that they need: preparations first, then each pre-training followed by its measurements.

    A finished run, such as one that `--from` names, is not among them, nor is what it needed.
    """
    ranks: dict[str, int] = {}
    ordered: list[tuple[int, Job]] = []

    def add(job: Job, number: int) -> int:
        """Adds a job and what it needs; its rank, which is the `number` of the first job on its pre-training."""
        if (rank := ranks.get(job.id)) is None:
            rank = -1
            for need in () if job.finished else job.needs:
                rank = max(rank, add(need, number))
            if rank < 0 and not job.preparation:
                rank = number
            ranks[job.id] = rank
            if not job.finished:
                ordered.append((rank, job))
        return rank

    for number, job in enumerate(jobs):
        if job.id not in ranks:
            add(job, number)
    return tuple(job for _, job in sorted(ordered, key=itemgetter(0)))
