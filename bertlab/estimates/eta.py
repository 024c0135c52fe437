"""How long jobs still take, while they run: from finished runs of the store, and from the speed of these jobs."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from bertlab.estimates import microbenchmark
from bertlab.estimates.cost import JOB_SECONDS, Seconds, gpu_seconds, wall_seconds
from bertlab.lab.jobs import Job
from bertlab.lab.jobs.lists import per_group
from bertlab.machine import Machine

LEAST_SECONDS = 3.0
"""The seconds of training before its speed counts: the first steps are slow."""
TEXT_SPEED = 1e6
"""About the bytes of text that one process prepares in a second, until a corpus shows its own speed."""
LARGE = 24_000_000
"""Bytes of text that take so long that the speed of training is guessed before, which takes some seconds."""


@dataclass
class _Running:
    """A job at work: when it began, and the share and time of its first and its latest step."""

    began: float
    first: tuple[float, float] | None = None
    last: tuple[float, float] = (0.0, 0.0)

    @property
    def gained(self) -> tuple[float, float]:
        """The share of the steps that were taken, and in how many seconds; zeros before there is a speed."""
        if self.first is None or self.last[1] - self.first[1] < LEAST_SECONDS:
            return 0.0, 0.0
        return self.last[0] - self.first[0], self.last[1] - self.first[1]


@dataclass
class Eta:
    """The time until all of some jobs have ended.

    The time of a job is that of similar finished runs (`seconds_by_run`), else follows from its FLOPs and the speed of
    the jobs of its kind that have ended, else of all pre-trainings so far, else is its guess.
    """

    jobs: dict[str, Job]
    """The jobs that have not ended, by id."""
    machine: Machine
    seconds_by_run: dict[str, float]
    """The time of jobs on one device by id, where there are similar finished runs."""
    flops: dict[str, float]
    """The FLOPs of the others, where they can be counted before they run."""
    guesses: dict[str, float] = field(default_factory=dict)
    """The time of jobs on one device by id: from the bytes of a text, the pace of other jobs, or the machine's peak."""
    guessed: bool = False
    """Whether the last time left rests on guesses."""
    clock: Callable[[], float] = time.monotonic
    running: dict[str, _Running] = field(default_factory=dict)
    ended: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """FLOPs and seconds of jobs by kind."""

    @classmethod
    def of_pending(cls, jobs: Sequence[Job], machine: Machine, seconds: Seconds) -> "Eta":
        """The time of pending jobs, whose tasks have been read, by the times of finished runs."""
        predicted = {job.id: time for job in jobs if (time := seconds(job, 1)) is not None}
        counted = [job for job in jobs if job.pretraining and job.pretraining.recipe]
        flops_of = per_group(lambda job: job.work().flops)
        flops = {job.id: flops_of(job) for job in counted if job.id not in predicted}
        similar = [job for job in counted if job.id in predicted and flops_of(job)]
        predicted |= {run_id: JOB_SECONDS for run_id, number in flops.items() if not number}
        texts = {job.id: text.bytes for job in jobs if job.preparation and (text := job.work().text)}
        guesses = {job.id: JOB_SECONDS + texts.get(job.id, 0) / TEXT_SPEED for job in jobs if job.preparation}
        large = any(not 0 < size < LARGE for size in texts.values())  # 0 on the Hub, where it is unknown
        if similar:
            pace = sum(predicted[job.id] for job in similar) / max(1.0, sum(map(flops_of, similar)))
            guesses |= {run_id: pace * number for run_id, number in flops.items()}
        elif large and flops and not machine.starts_ray:  # its workers may be on other machines
            machine.check()
            one = machine if machine.is_single_process else machine.per_worker()
            seconds_of = gpu_seconds(microbenchmark.peak(one), machine.runs_per_gpu)
            guesses |= {job.id: seconds_of(job, 1) or 0.0 for job in jobs if job.id in flops}
        return cls({job.id: job for job in jobs}, machine, predicted, flops, guesses)

    def begin(self, job: Job) -> None:
        """A job begins, perhaps again."""
        self.jobs[job.id] = job
        self.running[job.id] = _Running(self.clock())

    def at(self, job: Job, share: float) -> None:
        """A job has got so far: counts for a `steady` one."""
        if job.id in self.running and job.steady:
            self.running[job.id].last = share, self.clock()
            self.running[job.id].first = self.running[job.id].first or self.running[job.id].last

    def end(self, job: Job, *, done: bool = True) -> None:
        """A job has ended, with a result or without one."""
        run = self.running.pop(job.id, None)
        self.jobs.pop(job.id, None)
        if run is not None and done:
            spent = self.clock() - run.began
            before = run.first[0] if run.first else 0.0  # where it went on from a checkpoint
            self.ended.setdefault(job.kind, []).append(((1.0 - before) * self.flops.get(job.id, 0.0), spent))

    def seconds(self) -> float | None:
        """The time until all jobs have ended; None as long as the time of one is unknown."""
        self.guessed = False
        return wall_seconds([*self.jobs.values()], self.machine, self._left)

    def _left(self, job: Job, devices: int) -> float | None:
        run = self.running.get(job.id)
        gained, spent = run.gained if run else (0.0, 0.0)
        if run and gained:
            return (1.0 - run.last[0]) * spent / gained
        whole = self._whole(job, devices)
        if whole is None or run is None:
            return whole
        share = run.last[0] if run.first else (self.clock() - run.began) / max(whole, 1e-9)
        return max(0.0, 1.0 - share) * whole

    def _whole(self, job: Job, devices: int) -> float | None:
        """The time of a job from its begin to its end."""
        if job.id in self.seconds_by_run:
            return self.seconds_by_run[job.id] / devices
        similar = self.ended.get(job.kind, [])
        trained = self.ended.get(job.pretraining.kind, []) if job.pretraining else []
        done = [(flops, spent) for flops, spent in similar or trained if flops]
        if not similar:
            for run_id, run in self.running.items():
                gained, spent = run.gained
                done.append((gained * self.flops.get(run_id, 0.0), spent if self.flops.get(run_id) else 0.0))
        counted = sum(flops for flops, _ in done)
        if job.id in self.flops and counted:
            return self.flops[job.id] * sum(seconds for _, seconds in done) / counted
        if similar:
            return fmean(seconds for _, seconds in similar)
        if job.id not in self.guesses:
            return None
        self.guessed = True
        return self.guesses[job.id] / devices
