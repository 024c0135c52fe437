"""The cost of a plan: jobs done and to do, tokens, FLOPs, time and disk."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from bertlab import synthetic as microworld
from bertlab.estimates.measure import TYPICAL_MFU
from bertlab.lab.jobs import Job, Measure, PrepareCorpus, Pretrain, alike, devices_per_pretraining, per_group, read_task
from bertlab.lab.plan import Plan
from bertlab.machine import Machine
from bertlab.model.interop.checkpoint import Checkpoint
from bertlab.recipe import Recipe, cost
from bertlab.store.runs import Store
from bertlab.tasks import kinds
from bertlab.tasks.data import held_back, read
from bertlab.tasks.kinds.base import SAMPLED
from bertlab.tasks.locate import LocatedTask, splits_of

Seconds = Callable[[Job, int], float | None]
"""The time of a job on a number of devices; `None` if unknown."""

JOB_SECONDS = 3.0
"""Outside of a job's steps: reading and tokenising, building the model, saving."""
RAY_START_SECONDS = 8.0
"""Starting Ray, and importing torch in each worker."""
LAYER_SECONDS = 1.5e-3
"""A step on a GPU takes at least this per layer: some hundred kernel launches of about 10 microseconds each."""
MEASUREMENT_BYTES = 200_000
"""Typical size of the result and the predictions of a measurement."""
CORPUS_BYTES = 2 / 3
"""Typical size of a tokenised corpus per byte of its text."""


@dataclass(frozen=True, kw_only=True)
class Amount:
    """The cost of some jobs."""

    pretrainings: int
    """Imported checkpoints included."""
    measurements: int
    corpora: int
    tokens: int
    """Trained on, counted again in every epoch."""
    flops: float
    seconds: float | None
    """From the start of the first job to the end of the last; `None` if unknown."""
    disk_bytes: int

    @property
    def jobs(self) -> int:
        """The number of jobs."""
        return self.pretrainings + self.measurements + self.corpora


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a plan costs; `bertlab plan --json` prints these fields."""

    done: Mapping[str, int]
    """Finished jobs by kind."""
    jobs: Mapping[str, Amount]
    """Pending jobs by kind."""
    to_do: Amount


def estimate(plan: Plan, store: Store, machine: Machine, seconds: Seconds, *, read_tasks: bool = True) -> Estimate:
    """Estimates what a plan costs beyond the finished runs of a store."""
    finished, pending = plan.split(store)
    done = Counter(job.kind for job in finished)
    left: dict[str, list[Job]] = {kind: [] for kind in dict.fromkeys(job.kind for job in plan.jobs)}
    for job in pending:
        left[job.kind].append(job)
    times: dict[tuple[tuple[str, ...], int], float | None] = {}

    def of_group(job: Job, devices: int) -> float | None:
        """The time of a job that is not finished, which does not depend on its seeds."""
        if (key := (job.group, devices)) not in times:
            times[key] = seconds(job, devices)
        return times[key]

    cost_of = partial(amount, machine=machine, seconds=of_group, read_tasks=read_tasks)
    by_kind = {kind: cost_of(jobs) for kind, jobs in left.items() if jobs or done[kind]}
    return Estimate(done={kind: done[kind] for kind in by_kind}, jobs=by_kind, to_do=cost_of(pending))


def amount(jobs: Sequence[Job], machine: Machine, seconds: Seconds, *, read_tasks: bool = True) -> Amount:
    """The cost of `jobs`; without `read_tasks`, tokens, FLOPs and disk are those of the pre-trainings alone."""
    different = alike(jobs)
    counted = [(job, number) for job, number in different if read_tasks or isinstance(job, Pretrain)]
    works = [(work(job), number) for job, number in counted]
    corpora = sum(number for job, number in different if isinstance(job, PrepareCorpus))
    measured = sum(number for job, number in different if isinstance(job, Measure))
    return Amount(
        pretrainings=len(jobs) - corpora - measured,
        measurements=measured,
        corpora=corpora,
        tokens=round(sum(number * each.tokens for each, number in works)),
        flops=sum(number * each.flops for each, number in works),
        seconds=wall_seconds(jobs, machine, seconds),
        disk_bytes=round(sum(number * disk_bytes(job) for job, number in counted)),
    )


def wall_seconds(jobs: Sequence[Job], machine: Machine, seconds: Seconds) -> float | None:
    """The time from the start of the first job to the end of the last; `None` if that of a job is unknown.

    The larger of two lower bounds: all work spread evenly over the devices, and the longest chain of jobs that need
    each other. A schedule that starts long jobs first comes close to it.
    """
    per_run = devices_per_pretraining(machine, jobs)
    waited: dict[str, float] = {}
    measured: list[tuple[Measure, float]] = []
    total = before = spread = 0.0
    for job in jobs:
        devices = per_run if isinstance(job, Pretrain) and job.steps else 1
        if (time := seconds(job, devices)) is None:
            return None
        total += time
        if isinstance(job, Pretrain):
            waited[job.id] = time
        elif isinstance(job, Measure):
            measured.append((job, time))
        else:  # This process prepares text and checkpoints, before there are workers.
            before += time
            continue
        spread += time * devices
    if machine.is_single_process or not (waited or measured):
        return total
    longest = max([*waited.values(), *(time + waited.get(job.pretrain.id, 0.0) for job, time in measured)])
    start = RAY_START_SECONDS if machine.starts_ray else 0.0
    return before + start + max(longest, spread / machine.devices)


def gpu_seconds(peak_flops: float, runs_per_gpu: int = 1) -> Seconds:
    """Times of jobs on GPUs with a peak of `peak_flops` FLOP/s for dense matrix products, at `TYPICAL_MFU`.

    Runs that share a GPU share its FLOP/s; the times in which they launch kernels overlap.
    """

    work_of = per_group(work)

    def seconds(job: Job, devices: int) -> float:
        if not isinstance(job, Pretrain | Measure):
            return 0.0
        whole = work_of(job)
        # Several GPUs launch kernels as slowly as one.
        launching = whole.steps * (recipe_of(job).model.layers + 1) * LAYER_SECONDS
        computing = whole.flops / devices / (TYPICAL_MFU * peak_flops)
        return JOB_SECONDS + max(computing + launching, runs_per_gpu * computing)

    return seconds


@dataclass(frozen=True)
class Work:
    """What a job computes."""

    tokens: float = 0.0
    """Trained on, counted again in every epoch."""
    flops: float = 0.0
    steps: int = 0
    """Updates."""


def work(job: Job) -> Work:
    """What a job computes; reads the examples of a task."""
    if isinstance(job, Pretrain):
        return Work(float(cost.tokens(job.recipe)), cost.flops(job.recipe), job.steps)
    if not isinstance(job, Measure):
        return Work()
    recipe, settings = recipe_of(job), job.settings
    _, *evaluation = _sizes(job.data, job.held_back, settings.length)
    most = settings.max_eval_examples
    evaluated = sum(min(most or count, count) * tokens for count, _, tokens in evaluation)
    total = Work()
    before = [(job.intermediate_task, False)] if job.intermediate_task else []
    for (count, encoded, tokens), *_ in (
        _sizes(*each, settings.length) for each in ((job.data, job.held_back), *before)
    ):
        raw = min(settings.max_train_examples or count, count)
        trained, examples = raw * tokens, max(1, round(raw * encoded))
        steps = settings.steps(examples)
        epochs = steps * settings.batch_size / examples
        flops = settings.flops(recipe.model, trained, evaluated, epochs, causal=recipe.causal)
        total = Work(total.tokens + epochs * trained, total.flops + flops, total.steps + steps)
        evaluated = 0.0  # an intermediate task is not evaluated
    return total


@lru_cache(maxsize=256)
def _sizes(located: LocatedTask, back: bool, length: int) -> list[tuple[int, float, float]]:
    """The number of the training, evaluation and test examples of a task, each with the extent of one.

    With `back`, of the training examples with those held back for evaluation. Synthetic tasks with the same examples
    are read once, and only as far as the extents depend on them.
    """
    task = located.task
    if located.origin == "microworld" and located.name != task.name:
        return _sizes(dataclasses.replace(located, name=task.name), back, length)
    sampled = located.origin == "microworld" and not back
    data = read(located, SAMPLED) if sampled else held_back(read_task(located)) if back else read_task(located)
    parts = [part for part in (data.train, data.evaluation, data.test) if part is not None]
    counts = [microworld.size(task.microworld, each) for each in splits_of(task)] if sampled else map(len, parts)
    kind = kinds.find(data.kind)
    extents = (kind.extent(part, length, training=part is data.train) for part in parts)
    return [(number, *extent) for number, extent in zip(counts, extents, strict=True)]


def recipe_of(job: Pretrain | Measure) -> Recipe:
    """The recipe of the model; that of an imported checkpoint is read from its files."""
    pretrain = job.pretrain if isinstance(job, Measure) else job
    return pretrain.recipe if isinstance(pretrain, Pretrain) else _imported(pretrain.checkpoint)


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
        return CORPUS_BYTES * text_bytes(job)
    return float(MEASUREMENT_BYTES if isinstance(job, Measure) else 0)


def text_bytes(job: PrepareCorpus) -> int:
    """Bytes of the text of a corpus; 0 for text on the Hub, whose size is unknown."""
    if any(located.origin == "hub" for located in job.located):
        return 0
    files = sum(path.stat().st_size for located in job.located for path in located.files)
    return files + sum(located.count for located in job.located) * microworld.BYTES // microworld.DOCUMENTS
