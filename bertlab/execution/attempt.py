"""One attempt of a job in this process: claims it, runs it in its working directory, seals the result."""

import ctypes
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bertlab.errors import ArmFailed, BadInput, RunFailed, text_of, writing
from bertlab.lab.jobs import Job
from bertlab.lab.study_file import place_of
from bertlab.machine import Machine
from bertlab.names import label
from bertlab.progress import Interrupted, Progress
from bertlab.recipe.ranges import own_arms
from bertlab.store import files, writes
from bertlab.store.runs import Store
from bertlab.wording import join_words

SECONDS_TO_STOP = 9.0
"""The time that workers have to save before they are killed."""
SECONDS_BETWEEN_LOOKS = 0.3
"""The pause between two looks at running jobs."""

MISTAKES = (NameError, TypeError, AttributeError, LookupError, ImportError)
"""Errors in the code of a study file that another attempt would repeat."""


@dataclass(frozen=True)
class Ended:
    """How an attempt ended: `locked` by another process, `stopped` by a signal, `refused` for bad input, and so on."""

    status: Literal["done", "locked", "stopped", "refused", "failed", "diverged"]
    reason: str = ""
    log: str = ""
    """The traceback of a failure."""
    seconds: float = 0.0
    final: bool = False
    """Whether another attempt would end in the same way."""


def one_line(status: str, reason: str) -> str:
    """A status and its reason, which may begin with it: `diverged at step 7: the loss is not finite`."""
    return reason if reason.startswith(f"{status} at step") else f"{status}: {reason}"


class Engine:
    """Runs jobs on devices; this one on one device, in this process, each job to its end when it begins."""

    def __init__(self, store: Store, machine: Machine) -> None:
        self.store, self.machine = store, machine
        self.finished: list[tuple[Job, Ended]] = []

    def devices(self, job: Job) -> int:
        """The number of devices that a job uses."""
        return 1

    def free(self) -> int:
        """The number of idle devices."""
        return 0 if self.finished else 1

    def begin(self, job: Job, progress: Progress) -> None:
        """Begins a job on idle devices."""
        self.finished.append((job, attempt(job, self.store, self.machine, progress)))

    def report(self, job: Job, progress: Progress) -> None:
        """Calls `progress` with the last figures that the process of a running job recorded."""
        at = self.store.locks.progress(job.id)
        if at is not None and at.total:
            progress(at.done, at.total, at.stage, **at.figures)

    def ended(self) -> list[tuple[Job, Ended]]:
        """Jobs that have ended since the last call; waits a little for one."""
        ended, self.finished = self.finished, []
        return ended


def attempt(
    job: Job,
    store: Store,
    machine: Machine,
    progress: Progress | None = None,
    *,
    processes: int = 1,
    run: Callable[[Path, Progress], dict[str, Any]] | None = None,
) -> Ended:
    """Runs a job unless it is finished or locked; its result is in the store. Raises no error that a job can cause.

    `run` replaces the job's own `run`, for a job on several processes.
    """
    began = time.monotonic()
    try:
        with writing(store.root), store.locks.run(job.id) as lock:
            if lock is None:
                return Ended("locked")
            if store.get(job.id) is not None:
                return Ended("done")
            failure = store.failure(job.id)
            if failure is not None and failure.status == "diverged":  # meanwhile, in another command
                return Ended("diverged", failure.reason, failure.log, final=True)
            lock.observer = progress
            try:
                work = _begun(job, store, machine, processes)
                result = run(work, lock) if run else job.run(work, store, machine, lock)
            except (BadInput, Interrupted, OSError) as error:  # on a full disk, what there is of a text takes room
                if not job.resumes:
                    store.discard(job.kind, job.id)
                elif isinstance(error, Interrupted):
                    _time(job, store.work(job.kind, job.id), began)
                raise
            seconds = _time(job, work, began)
            writes.write_json(work, "result.json", result)
            store.finish(job.kind, job.id, job.label)
        return Ended("done", seconds=seconds)
    except BadInput as error:  # for one, a full disk
        return Ended("refused", str(error))
    except Interrupted as error:
        return Ended("stopped", str(error))
    except BaseException as error:
        if not isinstance(error, Exception) and (isinstance(error, KeyboardInterrupt) or not place_of(error)):
            raise
        return _failed(job, error)
    finally:
        _return_memory()


def _time(job: Job, work: Path, began: float) -> float:
    """The seconds of an attempt, which it records unless its job does."""
    seconds = time.monotonic() - began
    if not job.times_itself:
        line = {"stage": job.kind, "step": 0, "seconds": round(seconds, 3)}
        writes.append_line(work, "timing.jsonl", line)
    return seconds


def _failed(job: Job, error: BaseException) -> Ended:
    """How a job ended that raised an error, with the line of a study file where it arose."""
    name, log = type(error).__name__, traceback.format_exc()
    reason = text_of(error) or name
    if isinstance(error, RunFailed) and error.status == "diverged":
        return Ended("diverged", reason, log, final=True)
    if isinstance(error, ArmFailed):  # which names its place; another attempt would end in the same way
        return Ended("failed", reason, log, final=True)
    if where := place_of(error):
        text = reason if reason == name else f"{name}: {reason}"
        mistake = isinstance(error, MISTAKES) or not isinstance(error, Exception)
        return Ended("failed", f"{text} ({where})", log, final=mistake)
    if not isinstance(error, RunFailed) and (components := own_arms(job)):
        reason += f" (in a run with {join_words([component.__name__ for component in components])} of a study file)"
    return Ended("failed", reason, log)


def _return_memory() -> None:
    """Gives freed memory back to the system: after many jobs, the C library of Linux has kept as much as is in use."""
    with suppress(OSError, TypeError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def missing(job: Job, store: Store) -> Ended | None:
    """Waits until this process sees the runs that a job needs; how the job ends if one of them is damaged."""
    try:
        for need in job.needs:
            store.wait_for(need.id)
            store.get_verified(need.id)
    except RunFailed as error:  # the schedule repeats what is damaged, then this job
        return Ended("failed", str(error))
    except BadInput as error:
        return Ended("refused", str(error))
    except Interrupted as error:
        return Ended("stopped", str(error))
    return None


def _begun(job: Job, store: Store, machine: Machine, processes: int) -> Path:
    """The working directory of a job, with the records of its definition and its machine."""
    if not job.resumes:
        store.discard(job.kind, job.id)
    work = store.work(job.kind, job.id)
    record = {"kind": job.kind, "id": job.id, "label": label(job.label), "science": job.definition()}
    writes.write_json(work, "recipe.json", record)
    environment = machine.environment(job.compiles(machine))
    if processes > 1:
        environment["numerics"]["processes"] = processes
    if (work / "environment.json").exists():  # resumed: keep the numerics of every part
        with suppress(BadInput, KeyError, TypeError, AttributeError):  # a damaged record must not end a training
            before = files.read_json(work / "environment.json", dict[str, Any])
            environment["earlier"] = [*before.get("earlier", ()), before["numerics"]]
    writes.write_json(work, "environment.json", environment)
    return work
