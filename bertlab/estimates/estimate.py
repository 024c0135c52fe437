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

from bertlab import cost
from bertlab import plan as planning
from bertlab.checkpoint import Checkpoint
from bertlab.estimates.cards import Accelerator
from bertlab.estimates.measure import judged_rows, trained_rows, training_steps
from bertlab.execution.schedule import devices_of_one, length
from bertlab.jobs import ImportCheckpoint, Job, Measure, PrepareCorpus, Pretrain, needs, rows
from bertlab.machine import Machine
from bertlab.plan import Plan
from bertlab.recipe import Recipe
from bertlab.store import Store
from bertlab.tasks.data import TaskData, held_back
from bertlab.tasks.rows import Rows
from bertlab.text import microworld

Seconds = Callable[[Job], float | None]
"""What a job takes; `None` if that is not known."""

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
    request = dataclasses.replace(plan.request, seeds=plan.request.seeds + 1)
    return [job for job in planning.make(request, machine).pending(store) if job.id not in known]


def _repeated(plan: Plan) -> list[Job]:
    """The jobs of `Plan.asked` that are not run, because they are there already."""
    asked = {(cell.study.name, cell.variant, cell.pretrain.id): cell.pretrain for cell in plan.cells}
    measured = {(cell.study.name, cell.variant, cell.job.id): cell.job for cell in plan.cells}
    trained = [] if plan.request.pretrained else asked.values()  # what is given is no saving
    every = [*trained, *(job for job in measured.values() if isinstance(job, Measure))]
    seen: set[str] = set()
    return [job for job in every if job.id in seen or seen.add(job.id)]  # type: ignore[func-returns-value]


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


def on_cards(card: Accelerator, machine: Machine, jobs: Sequence[Job]) -> Seconds:
    """What jobs take on graphics cards of a kind, as many as `machine` has GPUs, by their published figures.

    Text is prepared elsewhere. Judging on held-out text counts as nothing.
    """
    group = devices_of_one(machine, jobs)

    def seconds(job: Job) -> float:
        _, flops = work(job, machine)
        if isinstance(job, Pretrain):  # the launching of kernels does not get faster with more cards
            return card.seconds(flops, job.steps * (group if job.steps else 1), job.recipe.model.layers)
        if not isinstance(job, Measure):
            return 0.0
        rows = trained_rows(job.settings, _data(job, machine))
        return card.seconds(flops, training_steps(job.settings, rows), recipe_of(job).model.layers)

    return seconds


def makespan(jobs: Sequence[Job], machine: Machine, seconds: Seconds) -> float | None:
    """From the begin of the first job to the end of the last one, as `execution.schedule` carries them out.

    Long ones first, each after those that it needs, on the devices that are free. A pre-training on k of them is taken
    to be k times as fast. `None` if it is not known of some job what it takes.
    """
    times = {job.id: seconds(job) for job in jobs}
    known = {name: each for name, each in times.items() if each is not None}
    if len(known) < len(times):
        return None
    if machine.alone or not jobs:
        return sum(known.values())
    here = [job for job in jobs if isinstance(job, PrepareCorpus | ImportCheckpoint)]
    now = sum(known[job.id] for job in here)
    todo = sorted((job for job in jobs if job not in here), key=length, reverse=True)
    if not todo:
        return now
    now += SECONDS_TO_START_WORKERS
    waiting, group, free = {job.id for job in todo}, devices_of_one(machine, jobs), machine.devices
    running: list[tuple[float, str, int]] = []
    while todo or running:
        for job in list(todo):
            taken = group if isinstance(job, Pretrain) and job.steps else 1
            if taken <= free and not any(need.id in waiting for need in needs(job)):
                heapq.heappush(running, (now + known[job.id] / taken, job.id, taken))
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
    recipe = recipe_of(job)
    settings, data = job.settings, _data(job, machine)
    count = trained_rows(settings, data)
    trained = _tokens(data.train, count, data.kind, settings.length)
    judged = sum(
        _tokens(part, judged_rows(settings, part), data.kind, settings.length)
        for part in (data.evaluation, data.test)
        if part is not None
    )
    passes = training_steps(settings, count) * settings.batch / count
    flops = cost.measurement_flops(recipe.model, settings, trained, judged, passes, causal=recipe.objective.causal)
    return passes * trained, flops


def recipe_of(job: Measure) -> Recipe:
    """The recipe of what is measured; of a checkpoint from elsewhere what it says of itself."""
    return job.pretrain.recipe if isinstance(job.pretrain, Pretrain) else _described(job.pretrain.checkpoint)


@lru_cache(maxsize=4)
def _described(checkpoint: Checkpoint) -> Recipe:
    from bertlab.model import huggingface

    recipe, _, _ = huggingface.read(checkpoint.fetch(), fresh=True)
    return recipe


def disk_bytes(job: Job, machine: Machine) -> float:
    """What a job leaves on the disk."""
    if isinstance(job, Pretrain):
        return float(weight_bytes(job) * job.milestones)
    if isinstance(job, Measure):
        data = _data(job, machine)
        judged = [part for part in (data.evaluation, data.test) if part is not None]
        targets = sum(
            judged_rows(job.settings, part) * (_words(part, data.kind) if data.kind == "tagging" else 1.0)
            for part in judged
        )
        return RESULT_BYTES + 8 * targets
    return CORPUS_BYTES * (text_bytes(job) or 0) if isinstance(job, PrepareCorpus) else 0.0


def weight_bytes(job: Pretrain) -> int:
    """Bytes of the weights of a pre-training, as they are kept at each milestone."""
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


def _tokens(part: Rows, count: int, kind: str, length: int) -> float:
    """About as many word pieces as `count` rows have, with [CLS] and [SEP], cut to `length`."""
    return count * min(float(length), PIECES * _words(part, kind) + 3)


def _words(part: Rows, kind: str) -> float:
    """Mean number of words of a row, of its first two thousand."""
    columns = [column[:2000] for column in part.text]
    counts = [
        [len(text) if isinstance(text, list | tuple) else text.count(" ") + 1 for text in each] for each in columns
    ]
    means = [sum(each) / max(1, len(each)) for each in counts]
    if kind == "multiple-choice":  # each ending stands behind the context
        return (len(means) - 1) * means[0] + sum(means[1:])
    return sum(means)
