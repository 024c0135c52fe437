"""Worker processes on the CPU or the GPUs of this machine, each with a run of its own; several may share a GPU.

Signals reach only this process, which stops workers by a flag file in the store. Workers end when this process does.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType

from bertlab.errors import BadInput
from bertlab.execution.attempt import SECONDS_BETWEEN_LOOKS, SECONDS_TO_STOP, Ended, Engine, attempt, missing
from bertlab.lab.jobs import Job
from bertlab.lab.study_file import Code
from bertlab.machine import Machine
from bertlab.progress import Progress, follow_parent, listening_to, starting_children
from bertlab.store.runs import Store

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The environment variable that says which GPUs a process sees."""
COMPILE_THREADS = "TORCHINDUCTOR_COMPILE_THREADS"
"""The environment variable that says how many processes compile for a worker."""
TRIES = 3
"""Workers that may be killed, one after the other, while they start."""


class Processes(Engine):
    """An engine of the worker processes that it hires; a file `flag` stops them, and they run `code` first."""

    def __init__(self, store: Store, machine: Machine, flag: Path, code: Code | None) -> None:
        super().__init__(store, machine)
        self.flag, self.code = flag, code
        self.workers: dict[Connection, BaseProcess] = {}
        self.places: dict[Connection, int] = {}
        """The place of each worker among the devices: GPU number `place % gpus`."""
        self.lost = 0
        """Workers that were killed since one started."""
        self.idle: list[Connection] = []
        self.running: dict[Connection, tuple[Job, Progress]] = {}

    def hire(self) -> None:
        """Starts a worker, which becomes idle when its imports are finished."""
        context = get_context("spawn")  # a copy of this process could hold locks of its threads for ever
        here, there = context.Pipe()
        arguments = there, self.store, self.machine.per_worker(), self.flag, self.code
        process = context.Process(target=_work, args=arguments, daemon=True)
        slot = min({*range(len(self.places) + 1)} - {*self.places.values()})
        variables = self._variables(slot % self.machine.gpus) if self.machine.gpus else {}
        # A worker runs the main module of this process again, and a user's script may call `ablate` there.
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            with _environment(variables), starting_children():
                process.start()
        finally:
            sys.modules["__main__"] = main
        there.close()  # so that the end of the worker is seen here
        self.workers[here], self.places[here] = process, slot

    def _variables(self, gpu: int) -> dict[str, str]:
        """The environment of a worker on a GPU: it sees this one alone, of those that this process sees.

        While it compiles, it has as many processes for that as threads, not as many as there are cores.
        """
        seen = os.environ.get(VISIBLE)
        threads = str(self.machine.per_worker().num_threads)
        return {
            VISIBLE: seen.split(",")[gpu] if seen else str(gpu),
            COMPILE_THREADS: os.environ.get(COMPILE_THREADS, threads),
        }

    def free(self) -> int:
        """The number of idle workers."""
        return len(self.idle)

    def begin(self, job: Job, progress: Progress) -> None:
        """Gives a job to an idle worker, on the GPU on which the fewest jobs run."""
        gpus = max(1, self.machine.gpus)
        busy = Counter(self.places[worker] % gpus for worker in self.running)
        worker = min(self.idle, key=lambda worker: busy[self.places[worker] % gpus])
        self.idle.remove(worker)
        self.running[worker] = job, progress
        with suppress(OSError):  # it was killed, which `ended` finds
            worker.send(job)

    def ended(self) -> list[tuple[Job, Ended]]:
        """Jobs that have ended; reports the progress of the others."""
        outcomes = []
        for running in self.running.values():
            self.report(*running)
        for worker in wait([*self.workers], SECONDS_BETWEEN_LOOKS):
            assert isinstance(worker, Connection)
            begun = self.running.pop(worker, None)
            try:
                outcome: Ended | None = worker.recv()
            except (EOFError, OSError):
                outcome = self.replace(worker)
            else:
                self.idle.append(worker)
            if begun is not None and outcome is not None:
                outcomes.append((begun[0], outcome))
            elif outcome is not None and (outcome.status == "refused" or self.lost >= TRIES):
                killed = "workers cannot be started: " if outcome.status == "failed" else ""
                raise BadInput(f"{killed}{outcome.reason}")
            elif outcome is None:
                self.lost = 0
        return outcomes

    def replace(self, worker: Connection) -> Ended:
        """Starts a worker in place of one that was killed; how the job of that one ended."""
        process = self.workers.pop(worker)
        del self.places[worker]
        process.join()
        worker.close()
        if worker in self.idle:
            self.idle.remove(worker)
        self.lost += 1
        self.hire()
        return Ended("failed", f"its process was killed (exit status {process.exitcode})")

    def stop(self) -> None:
        """Stops all running jobs, after they save."""
        if self.running:
            self.flag.touch()
            working, end = {*self.running}, time.monotonic() + SECONDS_TO_STOP
            while working and (left := end - time.monotonic()) > 0:
                working -= {*wait(working, left)}

    def end(self) -> None:
        """Ends all workers at once."""
        for process in self.workers.values():
            process.kill()
        for process in self.workers.values():
            process.join()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Processes that start within it have these environment variables."""
    before = {name: os.environ[name] for name in variables if name in os.environ}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update(before)


@contextmanager
def processes(store: Store, machine: Machine, jobs: Sequence[Job]) -> Iterator[Processes]:
    """Workers on the cores or the GPUs of this machine, for `jobs`; ends everything that it started."""
    store = Store(store.root.resolve())  # a study file may change the current directory
    flag = store.locks.scratch / store.locks.new_name("stop")
    engine = Processes(store, machine, flag, next((job.code for job in jobs), None))
    try:
        for _ in range(min(machine.devices, len(jobs))):
            engine.hire()
        yield engine
    except BaseException:  # a signal, or bad input of one job: the others save
        engine.stop()
        raise
    finally:
        engine.end()
        flag.unlink(missing_ok=True)


def _work(parent: Connection, store: Store, machine: Machine, flag: Path, code: Code | None) -> None:
    """A worker: runs the jobs that it receives, one after the other, and sends how each ended."""
    follow_parent()
    try:
        if code is not None:
            code.require()
        import bertlab.training.finetuning
        import bertlab.training.pretraining  # noqa: F401
    except BadInput as error:
        parent.send(Ended("refused", str(error)))
        return
    except Exception as error:
        parent.send(Ended("refused", f"workers cannot be started: {type(error).__name__}: {error}"))
        return
    parent.send(None)
    with suppress(EOFError), listening_to(flag):
        while True:
            job: Job = parent.recv()
            parent.send(missing(job, store) or attempt(job, store, machine))
