"""Carries out a plan: each job after those that it needs, on the devices that are free, whatever they are."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from bertlab.errors import BadInput, warn
from bertlab.execution.attempt import Ended
from bertlab.execution.in_process import ThisProcess
from bertlab.lab.jobs import ImportCheckpoint, Job, PrepareCorpus, Pretrain, needs
from bertlab.machine import Machine
from bertlab.names import label
from bertlab.progress import Progress, stop_if_asked
from bertlab.recipe import cost
from bertlab.store import locks as claims
from bertlab.store.runs import Run, Store

TRIES = 2
"""A job that fails is tried once more."""

SECONDS_BETWEEN_LOOKS = 0.2
"""At a run that another command works on."""


class Observer(Protocol):
    """Told of each job; the command line draws it."""

    def begin(self, job: Job, number: int, total: int) -> Progress:
        """Job `number` of `total` starts; what is returned is told of its progress."""

    def end(self, job: Job, run: Run, seconds: float) -> None:
        """The job is finished."""

    def again(self, job: Job, reason: str) -> None:
        """The job ended without a result and is tried once more."""

    def failed(self, job: Job, reason: str) -> None:
        """The job ended without a result."""


class Engine(Protocol):
    """What carries jobs out: this process, or others."""

    def devices(self, job: Job) -> int:
        """How many devices the job takes."""

    def free(self) -> int:
        """How many devices wait for a job."""

    def begin(self, job: Job, progress: Progress) -> None:
        """Begins a job on free devices."""

    def ended(self) -> list[tuple[Job, Ended]]:
        """Jobs that have ended since; waits a little for one."""


def execute(
    jobs: Sequence[Job], store: Store, machine: Machine, observer: Observer, started: Callable[[], None]
) -> list[Job]:
    """Runs the jobs that are not finished yet, each after those that it needs, and returns those that failed.

    `jobs` may hold finished ones. A job that fails is tried once more; then the failure is kept in the store with its
    reason, and what does not depend on it goes on; `diverged` is final. `started` is called when corpora and
    checkpoints are ready and the first training begins. Raises `BadInput` and `Interrupted`, which end everything.
    """
    schedule = Schedule(jobs, store, observer, started)
    if not machine.cluster:
        machine.check()
    if machine.is_single_process:
        return schedule.carry_out(ThisProcess(store, machine))
    from bertlab.execution.on_ray import workers

    # Text takes all cores of this machine; and what is wrong with it shows before others are started.
    here = ThisProcess(store, machine.cpu_only())
    lost = schedule.carry_out(here, (PrepareCorpus, ImportCheckpoint))
    if schedule.todo:
        with workers(store, machine, jobs) as engine:
            schedule.todo.sort(key=length, reverse=True)
            lost = schedule.carry_out(engine)
    return lost


class Schedule:
    """Which jobs are to be done, and which of them is next."""

    def __init__(self, jobs: Sequence[Job], store: Store, observer: Observer, started: Callable[[], None]) -> None:
        self.store, self.observer, self.started = store, observer, started
        self.done = {run.id for run in store.runs()}
        self.todo = [job for job in jobs if job.id not in self.done]
        self.total, self.begun = len(self.todo), Counter[str]()
        self.lost: list[Job] = []
        self.training = False
        self.awaited: set[str] = set()
        """Processes that were named as those that are waited for."""

    def carry_out(self, engine: Engine, kinds: type | tuple[type, ...] = object) -> list[Job]:
        """Runs the jobs of these kinds, the first ones first; returns all that are lost so far."""
        running, busy = 0, time.monotonic()
        while running or any(isinstance(job, kinds) for job in self.todo):
            stop_if_asked()
            self._give_up()
            while (job := self._next(engine, kinds)) is not None:
                self._begin(job, engine)
                running += 1
            ended = engine.ended()
            for job, how in ended:
                running -= 1
                self._end(job, how)
            if running or ended:
                busy = time.monotonic()
            else:
                if time.monotonic() - busy > claims.SECONDS_OF_SILENCE:
                    self._say_who()
                time.sleep(SECONDS_BETWEEN_LOOKS)  # others work on what is left, or devices are not ready yet
        return self.lost

    def _next(self, engine: Engine, kinds: type | tuple[type, ...]) -> Job | None:
        """The first job that could run now, on the devices that are free."""
        free = engine.free()
        for job in self.todo if free else ():
            if isinstance(job, kinds) and engine.devices(job) <= free and self._ready(job):
                return job
        return None

    def _ready(self, job: Job) -> bool:
        return all(need.id in self.done for need in needs(job)) and not self.store.is_claimed(job.id)

    def _say_who(self) -> None:
        """Names the process that is waited for, once: it may be a stopped one, or one on another machine."""
        job = next((job for job in self.todo if self.store.is_claimed(job.id)), None)
        if job is not None and (who := self.store.holder(job.id).partition(" since ")[0]) not in self.awaited:
            self.awaited.add(who)
            warn(f"waiting for {self.store.holder(job.id)}, which works on run {job.id} ({label(job.label)})")

    def _begin(self, job: Job, engine: Engine) -> None:
        if not self.training and not isinstance(job, PrepareCorpus | ImportCheckpoint):
            self.training = True
            self.started()
        self.todo.remove(job)
        self.begun[job.id] += 1
        engine.begin(job, self.observer.begin(job, len(self.begun), self.total))

    def _end(self, job: Job, how: Ended) -> None:
        if how.status == "refused":
            raise BadInput(how.reason)
        if how.status == "done":
            run = self.store.seen(job.id)
            self.done.add(job.id)
            self.observer.end(job, run, how.seconds)
        elif how.status in ("claimed", "stopped"):  # by another command; by a signal, which is looked at next
            self.begun[job.id] -= 1
            self.todo.append(job)
        elif not how.final and self.begun[job.id] < TRIES:
            self._missed(job)
            self.todo.append(job)
            self.observer.again(job, how.told)
        else:
            self.store.fail(
                {
                    "id": job.id,
                    "kind": job.kind,
                    "label": label(job.label),
                    "status": how.status,
                    "reason": how.reason,
                    "log": how.log,
                    "science": job.science(),
                }
            )
            self.lost.append(job)
            self.observer.failed(job, how.told)

    def _missed(self, job: Job) -> None:
        """Has what the job needs made anew if that is gone: it was found damaged when it was to be used."""
        for need in needs(job):
            if self.store.get(need.id) is None and need.id in self.done:
                self.done.remove(need.id)
                self.todo.insert(0, need)

    def _give_up(self) -> None:
        """Takes out what can have no result: it diverged before, or it needs what is lost."""
        lost = {job.id for job in self.lost}
        for job in list(self.todo):
            failure = self.store.failure(job.id)
            if any(need.id in lost for need in needs(job)) or (failure and failure["status"] == "diverged"):
                self.todo.remove(job)
                self.lost.append(job)
                lost.add(job.id)


def length(job: Job) -> tuple[int, float]:
    """How long a job is beside others: pre-trainings before measurements, many operations before few."""
    if isinstance(job, Pretrain):
        return 1, cost.flops(job.recipe)
    return 0, 0.0
