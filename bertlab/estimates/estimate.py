"""The cost of a plan: jobs done and to do, tokens, FLOPs, time and disk, and the cost of one more seed.

Times come from similar finished runs, else from short trials on this machine, or from the peak of GPUs elsewhere.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bertlab import synthetic as microworld
from bertlab.adaptation import Adaptation
from bertlab.estimates.measure import TYPICAL_MFU
from bertlab.lab import plan as planning
from bertlab.lab.jobs import (
    ImportCheckpoint,
    Job,
    Measure,
    PrepareCorpus,
    Pretrain,
    devices_per_pretraining,
    needs,
    read_task,
)
from bertlab.lab.plan import Plan
from bertlab.machine import Machine
from bertlab.model.interop.checkpoint import Checkpoint
from bertlab.recipe import Recipe, cost
from bertlab.store.runs import Store
from bertlab.tasks import kinds
from bertlab.tasks.data import held_back
from bertlab.tasks.raw import RawExamples, TaskData

Seconds = Callable[[Job, int], float | None]
"""The time of a job on a number of devices; `None` if unknown."""

JOB_SECONDS = 3.0
"""Outside of a job's steps: reading and tokenising, building the model, saving."""
RAY_START_SECONDS = 8.0
"""Starting Ray, and importing torch in each worker."""
PIECES_PER_WORD = 1.3
MEASUREMENT_BYTES = 200_000
"""Typical size of the result and the predictions of a measurement."""
CORPUS_BYTES = 2 / 3
"""Typical size of a tokenised corpus per byte of its text."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU that is not in this machine, as the user describes it."""

    peak_flops: float
    """FLOP/s of dense matrix products."""
    memory_bytes: float | None = None

    LAYER_SECONDS = 1.5e-3
    """A step takes at least this per layer: some hundred kernel launches of about 10 microseconds each."""

    def seconds(self, machine: Machine) -> Seconds:
        """Times of jobs at `TYPICAL_MFU`. Preparing text takes no time; many GPUs launch kernels as slowly as one."""

        def estimated(job: Job, devices: int) -> float:
            if isinstance(job, Pretrain):
                steps, layers = job.steps, job.recipe.model.layers
            elif isinstance(job, Measure):
                trained = (trained_examples(job.settings, data) for data in _trained_on(job))
                steps = sum(training_steps(job.settings, examples) for examples in trained)
                layers = recipe_of(job).model.layers
            else:
                return 0.0
            _, flops = work(job)
            computing = flops / devices / (TYPICAL_MFU * self.peak_flops)
            return JOB_SECONDS + computing + steps * (layers + 1) * self.LAYER_SECONDS

        return estimated


@dataclass(frozen=True, kw_only=True)
class Amount:
    """The cost of some jobs."""

    pretrainings: int = 0
    measurements: int = 0
    others: int = 0
    """Corpora and checkpoints."""
    tokens: float = 0.0
    """Trained on, counted again in every epoch."""
    flops: float = 0.0
    seconds: float | None = 0.0
    """From the start of the first job to the end of the last; `None` if unknown."""
    disk_bytes: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a plan costs."""

    done: Mapping[str, int]
    """Finished jobs by kind."""
    pending: Sequence[Job]
    kinds: Mapping[str, Amount]
    """Pending jobs by kind."""
    to_do: Amount
    studies: Mapping[str, Amount]
    """The cost of each study alone."""
    one_more_seed: Amount | None
    """`None` if nothing is pre-trained."""
    shared: Amount
    """Jobs that several variants or studies need and that run once; the time is that of one device."""


def estimate(plan: Plan, store: Store, machine: Machine, seconds: Seconds) -> Estimate:
    """Estimates what a plan costs beyond the finished runs of a store. Reads the tasks."""
    pending = {job.id: job for job in plan.pending(store)}
    kinds = list(dict.fromkeys(job.kind for job in plan.jobs))

    def cost_of(jobs: Sequence[Job]) -> Amount:
        return amount(jobs, machine, seconds)

    def alone(study: str) -> list[Job]:
        jobs = planning.in_order([cell.job for cell in plan.cells if cell.study.name == study])
        return [job for job in jobs if job.id in pending]

    return Estimate(
        done={kind: sum(job.kind == kind and job.id not in pending for job in plan.jobs) for kind in kinds},
        pending=[*pending.values()],
        kinds={kind: cost_of([job for job in pending.values() if job.kind == kind]) for kind in kinds},
        to_do=cost_of([*pending.values()]),
        studies={study.name: cost_of(alone(study.name)) for study in plan.request.studies},
        one_more_seed=None if plan.request.pretrained else cost_of(_next_seed(plan, store, machine)),
        shared=amount(_repeated(plan), Machine(), seconds),
    )


def _next_seed(plan: Plan, store: Store, machine: Machine) -> list[Job]:
    """The jobs that one more seed of the same studies adds."""
    known = {job.id for job in plan.jobs}
    request = dataclasses.replace(plan.request, seeds=(*plan.request.seeds, plan.request.seeds[-1] + 1))
    return [job for job in planning.make(request, machine).pending(store) if job.id not in known]


def _repeated(plan: Plan) -> list[Job]:
    """The jobs that several variants or studies need, once for each but the first."""
    needed = {(cell.study.name, cell.variant, job.id): job for cell in plan.cells for job in (cell.pretrain, cell.job)}
    seen, repeated = set[str](), list[Job]()
    for job in needed.values():
        if isinstance(job, Measure) or not plan.request.pretrained:  # a given checkpoint saves nothing
            repeated += [job] * (job.id in seen)
            seen.add(job.id)
    return repeated


def amount(jobs: Sequence[Job], machine: Machine, seconds: Seconds, *, read_tasks: bool = True) -> Amount:
    """The cost of `jobs` on the devices of a machine.

    Without `read_tasks`, tokens, FLOPs and disk are those of the pre-trainings alone.
    """
    counted = [job for job in jobs if read_tasks or isinstance(job, Pretrain)]
    worked = [work(job) for job in counted]
    trained = sum(isinstance(job, Pretrain | ImportCheckpoint) for job in jobs)
    measured = sum(isinstance(job, Measure) for job in jobs)
    return Amount(
        pretrainings=trained,
        measurements=measured,
        others=len(jobs) - trained - measured,
        tokens=sum(tokens for tokens, _ in worked),
        flops=sum(flops for _, flops in worked),
        seconds=wall_seconds(jobs, machine, seconds),
        disk_bytes=sum(map(disk_bytes, counted)),
    )


def wall_seconds(jobs: Sequence[Job], machine: Machine, seconds: Seconds) -> float | None:
    """The time from the start of the first job to the end of the last; `None` if that of a job is unknown.

    The larger of two lower bounds: all work spread evenly over the devices, and the longest chain of jobs that need
    each other. A schedule that starts long jobs first comes close to it.
    """
    per_run = devices_per_pretraining(machine, jobs)
    devices = {job.id: per_run if isinstance(job, Pretrain) and job.steps else 1 for job in jobs}
    known = {job.id: seconds(job, devices[job.id]) for job in jobs}
    times = {name: time for name, time in known.items() if time is not None}
    if len(times) < len(known):
        return None
    if machine.is_single_process:
        return sum(times.values())
    # Text and checkpoints are prepared by this process, before there are workers.
    parallel = [job for job in jobs if not isinstance(job, PrepareCorpus | ImportCheckpoint)]
    before = sum(times.values()) - sum(times[job.id] for job in parallel)
    if not parallel:
        return before
    waited = {job.id: times[job.id] for job in parallel}
    longest = max(times[job.id] + sum(waited.get(need.id, 0.0) for need in needs(job)) for job in parallel)
    evenly = sum(times[job.id] * devices[job.id] for job in parallel) / machine.devices
    return before + RAY_START_SECONDS + max(evenly, longest)


def work(job: Job) -> tuple[float, float]:
    """The tokens that a job trains on, and its FLOPs. Reads the examples of a task."""
    if isinstance(job, Pretrain):
        return float(cost.tokens(job.recipe)), cost.flops(job.recipe)
    if not isinstance(job, Measure):
        return 0.0, 0.0
    recipe, settings, tasks = recipe_of(job), job.settings, _trained_on(job)
    evaluated = sum(
        _tokens(part, min(settings.max_eval_examples or len(part), len(part)), tasks[0].kind, settings.length)
        for part in (tasks[0].evaluation, tasks[0].test)
        if part is not None
    )
    tokens, flops = 0.0, 0.0
    for each in tasks:
        examples = trained_examples(settings, each)
        trained = _tokens(each.train, examples, each.kind, settings.length)
        epochs = training_steps(settings, examples) * settings.batch_size / examples
        flops += settings.flops(recipe.model, trained, evaluated, epochs, causal=recipe.causal)
        tokens, evaluated = tokens + epochs * trained, 0.0  # an intermediate task is not evaluated
    return tokens, flops


def trained_examples(settings: Adaptation, data: TaskData) -> int:
    """Examples of a task that are trained on."""
    return min(settings.max_train_examples or len(data.train), len(data.train))


def training_steps(settings: Adaptation, examples: int) -> int:
    """Updates in all epochs over `examples` examples."""
    steps = max(1, math.ceil(settings.epochs * math.ceil(examples / settings.batch_size)))
    return min(steps, settings.max_steps) if settings.max_steps else steps


def recipe_of(job: Measure) -> Recipe:
    """The recipe of the measured model; that of an imported checkpoint is read from its files."""
    return job.pretrain.recipe if isinstance(job.pretrain, Pretrain) else _imported(job.pretrain.checkpoint)


@lru_cache(maxsize=4)
def _imported(checkpoint: Checkpoint) -> Recipe:
    from bertlab.model.interop import huggingface

    recipe, _, _ = huggingface.read(checkpoint.fetch(), fresh=True)
    return recipe


def disk_bytes(job: Job) -> float:
    """The bytes that a finished job keeps."""
    if isinstance(job, Pretrain):
        return float(cost.weight_bytes(job.recipe) * len(job.milestones))
    if isinstance(job, PrepareCorpus):
        return CORPUS_BYTES * (text_bytes(job) or 0)
    return float(MEASUREMENT_BYTES if isinstance(job, Measure) else 0)


def text_bytes(job: PrepareCorpus) -> int | None:
    """Bytes of the text of a corpus; `None` for text on the Hub, whose size is unknown."""
    if any(located.origin == "hub" for located in job.located):
        return None
    return sum(
        sum(path.stat().st_size for path in located.files) if located.files else microworld.BYTES
        for located in job.located
    )


_read = lru_cache(maxsize=64)(read_task)


def _trained_on(job: Measure) -> list[TaskData]:
    """The task of a measurement and its intermediate task, if any."""
    data = _read(job.data)
    intermediate = [_read(job.intermediate_task)] if job.intermediate_task else []
    return [held_back(data) if job.held_back else data, *intermediate]


def _tokens(part: RawExamples, count: int, kind: str, length: int) -> float:
    """About the tokens of `count` examples, [CLS] and [SEP] included, each cut to `length`."""
    return count * min(float(length), PIECES_PER_WORD * kinds.find(kind).words(part) + 3)
