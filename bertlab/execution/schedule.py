"""Runs a plan: each job after the jobs that it needs, on the free devices of an engine."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from bertlab.errors import BadInput, warn
from bertlab.execution.attempt import Ended, Engine, one_line
from bertlab.lab.jobs import Job
from bertlab.lab.jobs.lists import per_group, to_run
from bertlab.machine import Machine
from bertlab.names import label
from bertlab.progress import Progress, stop_if_asked
from bertlab.store import locks
from bertlab.store.result import Failure
from bertlab.store.run import Run
from bertlab.store.runs import Store

TRIES = 2
"""A job that fails is tried once more."""
SECONDS_BETWEEN_LOOKS = 0.2
"""The pause between two looks at a run that another command works on."""


class Observer(Protocol):
    """Shows the jobs; the command line implements it."""

    def begin(self, job: Job, number: int, total: int) -> Progress:
        """Job `number` of `total` begins; returns the callback for its progress."""

    def end(self, job: Job, run: Run, seconds: float) -> None:
        """The job is finished."""

    def failed(self, job: Job, reason: str, *, again: bool) -> None:
        """The job ended without a result, and is tried `again` or not."""


def execute(
    jobs: Sequence[Job], store: Store, machine: Machine, observer: Observer, on_training: Callable[[], object]
) -> list[Job]:
    """Runs the unfinished ones of `jobs`, each after the jobs that it needs, and returns those without a result.

    A failure is recorded after `TRIES`, and other jobs continue; a diverged job is not tried again. Calls `on_training`
    when corpora and checkpoints are ready. If only one job can run at a time, no worker starts: the jobs run in
    this process, with a worker's settings. Raises `BadInput` and `Interrupted`, which end all jobs.
    """
    schedule = Scheduler(jobs, store, observer)
    schedule.remove_passed(jobs)  # of a command that was killed
    machine.check()
    alone = machine.is_single_process
    schedule.carry_out(Engine(store, machine if alone else machine.cpu_only()), lambda job: job.preparation)
    if schedule.todo:
        on_training()
    ray = machine.starts_ray
    if not alone and not ray:
        machine = machine.limited_to(most_at_once([*schedule.todo.values()]))
    if machine.is_single_process:
        schedule.carry_out(Engine(store, machine))
    elif schedule.todo:
        if ray:
            from bertlab.execution.on_ray import workers
        else:
            from bertlab.execution.processes import processes as workers  # type: ignore[assignment]
        with workers(store, machine, jobs) as engine:
            flops = per_group(_flops)
            longest_first = sorted(schedule.todo.values(), key=lambda job: (job.passing, flops(job)), reverse=True)
            schedule.todo = {job.id: job for job in longest_first}
            schedule.carry_out(engine)
    return schedule.lost


class Scheduler:
    """The jobs that remain, and which of them runs next."""

    def __init__(self, jobs: Sequence[Job], store: Store, observer: Observer) -> None:
        self.store, self.observer = store, observer
        self.done = {run.id for run in store.runs()}
        self.todo = {job.id: job for job in to_run(jobs, self.done)}
        self.unneeded = {job.id: job for job in jobs if job.id not in self.todo and job.id not in self.done}
        """Corpora and trunks whose pre-trainings are finished, by id."""
        self.planned = {job.id for job in jobs}
        self.needing: dict[str, list[str]] = defaultdict(list)
        """The jobs that need a job, by id."""
        for job in jobs:
            for need in job.needs:
                self.needing[need.id].append(job.id)
        self.total, self.begun = len(self.todo), Counter[str]()
        self.lost: list[Job] = []
        self.lost_ids: set[str] = set()

    def carry_out(self, engine: Engine, chosen: Callable[[Job], bool] = lambda job: True) -> None:
        """Runs the `chosen` jobs, the first ones first; `lost` then has all jobs without a result so far."""
        failed = self.store.failed_ids()
        for run_id in [run_id for run_id in self.todo if run_id in failed]:
            if run_id in self.todo and self._has_diverged(run_id):
                self._give_up(self.todo.pop(run_id))
        running, busy, warned = 0, time.monotonic(), set[str]()
        while running or any(map(chosen, self.todo.values())):
            stop_if_asked()
            while (job := self._next(engine, chosen)) is not None:
                del self.todo[job.id]
                if self._has_diverged(job.id):  # meanwhile, in another command
                    self._give_up(job)
                    continue
                self.begun[job.id] += 1
                engine.begin(job, self.observer.begin(job, len(self.begun), self.total))
                running += 1
            ended = engine.ended()
            for job, how in ended:
                running -= 1
                self._end(job, how)
            if running or ended:
                busy = time.monotonic()
            else:
                held = next((job for job in self.todo.values() if self._is_held(job)), None)
                if held and held.id not in warned and time.monotonic() - busy > locks.SECONDS_OF_SILENCE:
                    warned.add(held.id)
                    holder = self.store.locks.holder(held.id)  # it may be stopped, or on another machine
                    warn(f"waiting for {holder}, which works on run {held.id} ({label(held.label)})")
                time.sleep(SECONDS_BETWEEN_LOOKS)  # other commands run the remaining jobs, or devices are not ready

    def _next(self, engine: Engine, chosen: Callable[[Job], bool]) -> Job | None:
        """The first of the chosen jobs that can run now on the idle devices."""
        free = engine.free()
        for job in self.todo.values() if free else ():
            fits = chosen(job) and engine.devices(job) <= free
            if fits and self._has_needs(job) and not self.store.locks.has(job.id):
                return job
        return None

    def _has_needs(self, job: Job) -> bool:
        return all(need.id in self.done for need in job.needs)

    def _is_held(self, job: Job) -> bool:
        """Whether another command works on a job that could run here."""
        return self._has_needs(job) and self.store.locks.has(job.id)

    def _has_diverged(self, run_id: str) -> bool:
        failure = self.store.failure(run_id)
        return failure is not None and failure.status == "diverged"

    def _end(self, job: Job, how: Ended) -> None:
        if how.status == "refused":
            raise BadInput(how.reason)
        if how.status == "done":
            run = self.store.wait_for(job.id)
            self.done.add(job.id)
            self.observer.end(job, run, how.seconds)
            self.remove_passed(job.needs)
        elif how.status in ("locked", "stopped"):  # by another command; by a signal, which the loop checks next
            self.begun[job.id] -= 1
            self._wait(job)
        elif not how.final and self.begun[job.id] < TRIES and not self._lacks(job):
            for need in job.needs:  # again too if their runs are gone: damaged ones are set aside before use
                if need.id in self.done:
                    self._repeat_if_gone(need)
            self._wait(job)
            self.observer.failed(job, one_line(how.status, how.reason), again=True)
        else:
            why = {"status": how.status, "reason": how.reason, "log": how.log}
            self._fail(job, why)
            self._give_up(job)
            self.observer.failed(job, one_line(how.status, how.reason), again=False)

    def remove_passed(self, jobs: Iterable[Job]) -> None:
        """Removes the runs of passing jobs from which no job goes on any more, of this command or of another one."""
        for job in jobs:
            needing = self.needing[job.id] if job.passing and job.id in self.done else []
            passed = needing and all(run_id in self.done or run_id in self.unneeded for run_id in needing)
            run = self.store.get(job.id) if passed else None
            if run is not None:
                with self.store.locks.exclusive():
                    if job.id not in self.store.locks.reserved_ids(by_others=True):
                        self.store.remove([run])

    def _repeat_if_gone(self, job: Job) -> None:
        """Runs a job again before all others if its run is gone, after those that it needs."""
        if self.store.get(job.id) is None:
            self.done.discard(job.id)
            self.unneeded.pop(job.id, None)
            self.todo = {job.id: job} | self.todo
            for need in job.needs:
                if need.id in self.done or need.id in self.unneeded:
                    self._repeat_if_gone(need)

    def _fail(self, job: Job, why: Mapping[str, str]) -> None:
        """Records a failure; that of a passing job is the failure of those that go on from it."""
        self.store.fail(Failure(id=job.id, kind=job.kind, label=label(job.label), science=job.definition(), **why))
        for run_id in self.needing[job.id] if job.passing else ():
            if run_id in self.todo:
                self._fail(self.todo[run_id], why)

    def _lacks(self, job: Job) -> bool:
        """Whether a run that a job needs is gone and not of this plan, such as the model of `--from`."""
        return any(need.id not in self.planned and self.store.get(need.id) is None for need in job.needs)

    def _wait(self, job: Job) -> None:
        """Lets a job wait behind all others, unless a job that it needs was lost while it ran."""
        if any(need.id in self.lost_ids for need in job.needs):
            self._give_up(job)
        else:
            self.todo[job.id] = job

    def _give_up(self, job: Job) -> None:
        """Loses a job, and with it the waiting ones that need it."""
        losing = [job]
        while losing:
            gone = losing.pop(0)
            self.lost.append(gone)
            self.lost_ids.add(gone.id)
            losing += [self.todo.pop(run_id) for run_id in self.needing[gone.id] if run_id in self.todo]


def most_at_once(jobs: Sequence[Job]) -> int:
    """How many of `jobs` can run at once at most: as many as no other job needs, since each needs at most one."""
    needed = {need.id for job in jobs for need in job.needs}
    return sum(job.id not in needed for job in jobs)


def _flops(job: Job) -> float:
    """The FLOPs by which workers begin with the longest job; 0 where examples would have to be read."""
    return 0.0 if job.tasks else job.work().flops
