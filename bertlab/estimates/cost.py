"""The cost of a plan: jobs done and to do, tokens, FLOPs, time and disk."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bertlab.estimates.microbenchmark import TYPICAL_MFU
from bertlab.lab.jobs import Job
from bertlab.lab.jobs.base import KINDS, Work
from bertlab.lab.jobs.lists import devices_per_run, grouped, per_group
from bertlab.lab.plan import Plan
from bertlab.machine import Machine
from bertlab.store.runs import Store

Seconds = Callable[[Job, int], float | None]
"""The time of a job on a number of devices; `None` if unknown."""

JOB_SECONDS = 3.0
"""The seconds of a job outside of its steps: reading and tokenising, building the model, saving."""
RAY_START_SECONDS = 8.0
"""The seconds to start Ray, and to import torch in each worker."""
LAYER_SECONDS = 1.5e-3
"""A step on a GPU takes at least this per layer: some hundred kernel launches of about 10 microseconds each."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of some jobs."""

    counts: Mapping[str, int]
    """How many of them are `pretrainings` (imported checkpoints included), `measurements`, `corpora` and so on."""
    tokens: int
    """The tokens on which they train, counted again in every epoch."""
    flops: float
    seconds: float | None
    """The time from the start of the first job to the end of the last; `None` if unknown."""
    disk_bytes: int

    @property
    def jobs(self) -> int:
        """The number of jobs."""
        return sum(self.counts.values())

    def to_json(self) -> dict[str, Any]:
        """All fields, with the counts among them."""
        fields = dataclasses.asdict(self)
        return {**fields.pop("counts"), **fields}


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a plan costs."""

    done: Mapping[str, int]
    """Finished jobs by kind."""
    jobs: Mapping[str, Cost]
    """Pending jobs by kind."""
    to_do: Cost

    def to_json(self) -> dict[str, Any]:
        """What `bertlab plan --json` prints of it."""
        jobs = {kind: cost.to_json() for kind, cost in self.jobs.items()}
        return {"done": dict(self.done), "jobs": jobs, "to_do": self.to_do.to_json()}


def estimate(plan: Plan, store: Store, machine: Machine, seconds: Seconds, *, read_tasks: bool = True) -> Estimate:
    """Estimates what a plan costs beyond the finished runs of a store."""
    finished, pending = plan.split(store)
    done = Counter(job.kind for job in finished)
    left: dict[str, list[Job]] = {job.kind: [] for job in plan.jobs}
    for job in pending:
        left[job.kind].append(job)
    # the time of a job that is not finished does not depend on its seeds
    cost_of = partial(cost, machine=machine, seconds=per_group(seconds), read_tasks=read_tasks)
    by_kind = {kind: cost_of(jobs) for kind, jobs in left.items() if jobs or done[kind]}
    return Estimate(done={kind: done[kind] for kind in by_kind}, jobs=by_kind, to_do=cost_of(pending))


def cost(jobs: Sequence[Job], machine: Machine, seconds: Seconds, *, read_tasks: bool = True) -> Cost:
    """The cost of `jobs`; without `read_tasks`, tokens, FLOPs and disk are those of the jobs that read no examples."""
    counts = dict.fromkeys((kind.counted for kind in KINDS.values()), 0)
    tokens = flops = disk = 0.0
    for job, number in grouped(jobs):
        counts[job.counted] += number
        if read_tasks or not job.tasks:
            work = job.work()
            tokens += number * work.tokens
            flops += number * work.flops
            disk += number * job.storage().kept
    time = wall_seconds(jobs, machine, seconds)
    return Cost(counts=counts, tokens=round(tokens), flops=flops, seconds=time, disk_bytes=round(disk))


def wall_seconds(jobs: Sequence[Job], machine: Machine, seconds: Seconds) -> float | None:
    """The time from the start of the first job to the end of the last; `None` if that of a job is unknown.

    The larger of two lower bounds: all work spread evenly over the devices, and the longest chain of jobs that need
    each other. A schedule that starts long jobs first comes close to it.
    """
    per_run = devices_per_run(machine, jobs)
    times: dict[str, float] = {}
    preparing = spread = 0.0
    for job in jobs:
        devices = per_run if job.distributed else 1
        if (time := seconds(job, devices)) is None:
            return None
        if job.preparation:
            preparing += time
        else:
            times[job.id] = time
            spread += time * devices
    if machine.is_single_process or not times:
        return preparing + sum(times.values())

    def chain(job: Job) -> float:
        """The time until a job ends, if nothing waits for a device."""
        return times[job.id] + max((chain(need) for need in job.needs if need.id in times), default=0.0)

    longest = max(chain(job) for job in jobs if job.id in times)
    start = RAY_START_SECONDS if machine.starts_ray else 0.0
    return preparing + start + max(longest, spread / machine.devices)


def gpu_seconds(peak_flops: float, runs_per_gpu: int = 1) -> Seconds:
    """Times of jobs on GPUs with a peak of `peak_flops` FLOP/s for dense matrix products, at `TYPICAL_MFU`.

    Runs that share a GPU share its FLOP/s; the times in which they launch kernels overlap.
    """
    work_of: Callable[[Job], Work] = per_group(lambda job: job.work())

    def seconds(job: Job, devices: int) -> float:
        if job.preparation:
            return 0.0
        work = work_of(job)
        # Several GPUs launch kernels as slowly as one.
        launching = work.steps * (work.layers + 1) * LAYER_SECONDS
        computing = work.flops / devices / (TYPICAL_MFU * peak_flops)
        return JOB_SECONDS + max(computing + launching, runs_per_gpu * computing)

    return seconds
