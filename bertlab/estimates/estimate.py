"""What a plan costs: jobs done and to do, tokens, operations, time and disk; and what one seed more would.

Times come from finished runs alike where there are some, else from a short measurement of this machine or, for
graphics cards that are elsewhere, from their published figures.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bertlab import synthetic as microworld
from bertlab.estimates.cards import Accelerator
from bertlab.estimates.measure import judged_rows, trained_rows, training_steps
from bertlab.execution.schedule import devices_of_one, length
from bertlab.lab import plan as planning
from bertlab.lab.jobs import ImportCheckpoint, Job, Measure, PrepareCorpus, Pretrain, needs, rows
from bertlab.lab.plan import Plan
from bertlab.machine import Machine
from bertlab.model.interop.checkpoint import Checkpoint
from bertlab.recipe import Recipe, cost
from bertlab.store.runs import Store
from bertlab.tasks import kinds
from bertlab.tasks.data import held_back
from bertlab.tasks.rows import Rows, TaskData

Seconds = Callable[[Job, int], float | None]
"""What a job takes on so many devices; `None` if that is not known."""

SECONDS_TO_START_WORKERS = 8.0
"""Ray, and torch in each process."""
PIECES = 1.3
"""Word pieces a word, about."""
RESULT_BYTES = 10_000
"""Of a measurement, beside its predictions."""
CORPUS_BYTES = 2 / 3
"""Of a tokenised corpus, for each byte of its text, about."""


@dataclass(frozen=True, kw_only=True)
class Amount:
    """What some jobs come to."""

    pretrainings: int = 0
    measurements: int = 0
    others: int = 0
    """Corpora and checkpoints."""
    tokens: float = 0.0
    """That are trained on, again in every pass."""
    flops: float = 0.0
    seconds: float | None = 0.0
    """From the begin of the first to the end of the last one; `None` if that is not known."""
    disk_bytes: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a plan costs."""

    done: Mapping[str, int]
    """Finished jobs by kind."""
    pending: Sequence[Job]
    """Jobs to do."""
    kinds: Mapping[str, Amount]
    """Jobs to do, by kind."""
    to_do: Amount
    studies: Mapping[str, Amount]
    """By study what it would take alone."""
    one_more_seed: Amount | None
    """`None` where nothing is pre-trained."""
    shared: Amount
    """What is not run, as other rows and studies ask for the same: its time is that of one device."""


def estimate(plan: Plan, store: Store, machine: Machine, seconds: Seconds) -> Estimate:
    """What a plan costs beside what a store has. Reads the tasks."""
    pending = {job.id: job for job in plan.pending(store)}
    kinds = list(dict.fromkeys(job.kind for job in plan.jobs))
    studies = {
        study.name: planning.in_order([cell.job for cell in plan.cells if cell.study.name == study.name])
        for study in plan.request.studies
    }
    return Estimate(
        done={kind: sum(job.kind == kind and job.id not in pending for job in plan.jobs) for kind in kinds},
        pending=[*pending.values()],
        kinds={kind: amount([job for job in pending.values() if job.kind == kind], machine, seconds) for kind in kinds},
        to_do=amount([*pending.values()], machine, seconds),
        studies={
            name: amount([job for job in jobs if job.id in pending], machine, seconds) for name, jobs in studies.items()
        },
        one_more_seed=None if plan.request.pretrained else amount(_next_seed(plan, store, machine), machine, seconds),
        shared=amount(_repeated(plan), Machine(), seconds),
    )


def _next_seed(plan: Plan, store: Store, machine: Machine) -> list[Job]:
    """The jobs that one more seed of the same studies would add."""
    known = {job.id for job in plan.jobs}
    request = dataclasses.replace(plan.request, seeds=(*plan.request.seeds, plan.request.seeds[-1] + 1))
    return [job for job in planning.make(request, machine).pending(store) if job.id not in known]


def _repeated(plan: Plan) -> list[Job]:
    """The jobs of `Plan.asked` that are not run, because they are there already."""
    asked = {(cell.study.name, cell.variant, cell.pretrain.id): cell.pretrain for cell in plan.cells}
    measured = {(cell.study.name, cell.variant, cell.job.id): cell.job for cell in plan.cells}
    trained = [] if plan.request.pretrained else asked.values()  # what is given is no saving
    every = [*trained, *(job for job in measured.values() if isinstance(job, Measure))]
    seen, again = set[str](), list[Job]()
    for job in every:
        if job.id in seen:
            again.append(job)
        seen.add(job.id)
    return again


def amount(jobs: Sequence[Job], machine: Machine, seconds: Seconds, *, whole: bool = True) -> Amount:
    """What `jobs` come to on the devices of a machine.

    Not `whole`, tasks are not read: tokens and operations are those of pre-trainings alone.
    """
    worked = [work(job, machine) for job in jobs if whole or isinstance(job, Pretrain)]
    trained = sum(isinstance(job, Pretrain | ImportCheckpoint) for job in jobs)
    measured = sum(isinstance(job, Measure) for job in jobs)
    return Amount(
        pretrainings=trained,
        measurements=measured,
        others=len(jobs) - trained - measured,
        tokens=sum(tokens for tokens, _ in worked),
        flops=sum(flops for _, flops in worked),
        seconds=makespan(jobs, machine, seconds),
        disk_bytes=sum(disk_bytes(job, machine) for job in jobs if whole or isinstance(job, Pretrain)),
    )


def on_cards(card: Accelerator, machine: Machine) -> Seconds:
    """What jobs take on graphics cards of a kind by their published figures.

    Text is prepared elsewhere. Judging on held-out text counts as nothing. More cards do not launch kernels faster.
    """

    def seconds(job: Job, devices: int) -> float:
        _, flops = work(job, machine)
        if isinstance(job, Pretrain):
            return card.seconds(flops / devices, job.steps, job.recipe.model.layers)
        if not isinstance(job, Measure):
            return 0.0
        each = (trained_rows(job.settings, data) for data in _trained_on(job, machine))
        steps = sum(training_steps(job.settings, rows) for rows in each)
        return card.seconds(flops, steps, recipe_of(job).model.layers)

    return seconds


def makespan(jobs: Sequence[Job], machine: Machine, seconds: Seconds) -> float | None:
    """From the begin of the first job to the end of the last one, as `execution.schedule` carries them out.

    Long ones first, each after those that it needs, on the devices that are free. `None` if it is not known of some
    job what it takes.
    """
    group = devices_of_one(machine, jobs)
    devices = {job.id: group if isinstance(job, Pretrain) and job.steps else 1 for job in jobs}
    times = {job.id: seconds(job, devices[job.id]) for job in jobs}
    known = {name: each for name, each in times.items() if each is not None}
    if len(known) < len(times):
        return None
    if machine.is_single_process or not jobs:
        return sum(known.values())
    here = [job for job in jobs if isinstance(job, PrepareCorpus | ImportCheckpoint)]
    now = sum(known[job.id] for job in here)
    todo = sorted((job for job in jobs if job not in here), key=length, reverse=True)
    if not todo:
        return now
    now += SECONDS_TO_START_WORKERS
    waiting, free = {job.id for job in todo}, machine.devices
    running: list[tuple[float, str, int]] = []
    while todo or running:
        for job in list(todo):
            taken = devices[job.id]
            if taken <= free and not any(need.id in waiting for need in needs(job)):
                heapq.heappush(running, (now + known[job.id], job.id, taken))
                todo.remove(job)
                free -= taken
        now, ended, taken = heapq.heappop(running)
        waiting.discard(ended)
        free += taken
    return now


def work(job: Job, machine: Machine) -> tuple[float, float]:
    """Tokens that a job trains on, and the operations that it takes. Reads the rows of a task."""
    if isinstance(job, Pretrain):
        return float(cost.tokens(job.recipe)), cost.flops(job.recipe)
    if not isinstance(job, Measure):
        return 0.0, 0.0
    recipe, settings, data = recipe_of(job), job.settings, _data(job, machine)
    judged = sum(
        _tokens(part, judged_rows(settings, part), data.kind, settings.length)
        for part in (data.evaluation, data.test)
        if part is not None
    )
    seen, flops = 0.0, 0.0
    for each in _trained_on(job, machine):
        count = trained_rows(settings, each)
        trained = _tokens(each.train, count, each.kind, settings.length)
        passes = training_steps(settings, count) * settings.batch_size / count
        flops += cost.measurement_flops(recipe.model, settings, trained, judged, passes, causal=recipe.objective.causal)
        seen, judged = seen + passes * trained, 0.0  # judged once
    return seen, flops


def recipe_of(job: Measure) -> Recipe:
    """The recipe of what is measured; of a checkpoint from elsewhere what it says of itself."""
    return job.pretrain.recipe if isinstance(job.pretrain, Pretrain) else _described(job.pretrain.checkpoint)


@lru_cache(maxsize=4)
def _described(checkpoint: Checkpoint) -> Recipe:
    from bertlab.model.interop import huggingface

    recipe, _, _ = huggingface.read(checkpoint.fetch(), fresh=True)
    return recipe


def disk_bytes(job: Job, machine: Machine) -> float:
    """What a job leaves on the disk."""
    if isinstance(job, Pretrain):
        return float(milestone_bytes(job) * len(job.milestones))
    if isinstance(job, Measure):
        data = _data(job, machine)
        judged = [part for part in (data.evaluation, data.test) if part is not None]
        targets = sum(judged_rows(job.settings, part) * kinds.find(data.kind).targets(part) for part in judged)
        return RESULT_BYTES + 8 * targets
    return CORPUS_BYTES * (text_bytes(job) or 0) if isinstance(job, PrepareCorpus) else 0.0


def milestone_bytes(job: Pretrain) -> int:
    """Bytes that a pre-training keeps at each milestone: its weights."""
    recipe = job.recipe
    positions = recipe.model.positions_for(recipe.inputs.longest)
    return cost.weight_bytes(recipe.model, recipe.tokenizer.vocabulary, positions)


def text_bytes(job: PrepareCorpus) -> int | None:
    """Bytes of the text of a corpus; `None` where it is on the Hub and nobody knows yet."""
    size = 0
    for located in job.located:
        if located.origin == "hub":
            return None
        size += sum(path.stat().st_size for path in located.files) if located.files else microworld.BYTES
    return size


@lru_cache(maxsize=64)
def _read(data: Any, machine: Machine) -> TaskData:
    return rows(data, machine)


def _data(job: Measure, machine: Machine) -> TaskData:
    data = _read(job.data, machine)
    return held_back(data) if job.held_back else data


def _trained_on(job: Measure, machine: Machine) -> list[TaskData]:
    """The tasks that a measurement trains on: its own and, before it, another if that was asked for."""
    return [_data(job, machine), *([_read(job.intermediate_task, machine)] if job.intermediate_task else [])]


def _tokens(part: Rows, count: int, kind: str, length: int) -> float:
    """About as many word pieces as `count` rows have, with [CLS] and [SEP], cut to `length`."""
    return count * min(float(length), PIECES * kinds.find(kind).words(part) + 3)
