"""One try of a job, in this process: claimed, carried out in its working directory, sealed."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bertlab.errors import BadInput, RunFailed, Unwritable, writing
from bertlab.lab.jobs import Job, Pretrain
from bertlab.machine import Machine
from bertlab.names import label
from bertlab.progress import Interrupted, Progress
from bertlab.store import files
from bertlab.store.locks import Claim
from bertlab.store.runs import Store

Status = Literal["done", "claimed", "stopped", "refused", "failed", "diverged"]


@dataclass(frozen=True)
class Ended:
    """How a try ended.

    `claimed`: another process works on the run. `stopped`: a signal came, what was done is kept. `refused`: the input
    is bad.
    """

    status: Status
    reason: str = ""
    log: str = ""
    """The traceback of a failure."""
    seconds: float = 0.0
    final: bool = False
    """Another try is of no use."""

    @property
    def told(self) -> str:
        """Status and reason in one line."""
        return stated(self.status, self.reason)


def stated(status: str, reason: str) -> str:
    """A status and its reason, which may say it already: `diverged at step 7: the loss is not finite`."""
    return reason if reason.startswith(f"{status} at step") else f"{status}: {reason}"


def attempt(
    job: Job,
    store: Store,
    machine: Machine,
    progress: Progress | None = None,
    *,
    processes: int = 1,
    run: Callable[[Path, Progress], dict[str, Any]] | None = None,
) -> Ended:
    """Carries out a job unless it is finished or claimed; what it leaves is in the store.

    Its progress is kept with the claim, and told to `progress` if there is one. `run` takes the place of the job's own
    `run` (for one on several processes). Raises nothing that a job can be the cause of.
    """
    try:
        if job.code is not None:
            job.code.require()
        with writing(store.root), store.claimed(job.id) as claim:
            return Ended("claimed") if claim is None else _claimed(job, store, machine, claim, progress, processes, run)
    except BadInput as error:  # a store that takes no more: the same command goes on with what there is
        return Ended("refused", str(error))


def _claimed(
    job: Job,
    store: Store,
    machine: Machine,
    claim: Claim,
    progress: Progress | None,
    processes: int,
    run: Callable[[Path, Progress], dict[str, Any]] | None,
) -> Ended:
    """The try of a job whose claim is held."""
    if store.get(job.id) is not None:
        return Ended("done")
    failure = store.failure(job.id)
    if failure is not None and failure["status"] == "diverged":  # in another command, meanwhile
        return Ended("diverged", failure["reason"], failure["log"], final=True)
    told: Progress = claim if progress is None else _Both(claim, progress)
    began = time.monotonic()
    try:
        with writing(store.root):
            work = _begun(job, store, machine, processes)
            result = run(work, told) if run is not None else job.run(work, store, machine, told)
            seconds = time.monotonic() - began
            if not isinstance(job, Pretrain):  # which keeps its own times, across interruptions
                line = {"stage": job.kind, "step": 0, "seconds": round(seconds, 3)}
                files.append_line(work / "timing.jsonl", line)
            files.write_json(work / "result.json", result)
            store.finish(job.kind, job.id, job.label)
        return Ended("done", seconds=seconds)
    except Unwritable:
        raise
    except BadInput as error:
        if not isinstance(job, Pretrain):  # of which checkpoints are kept
            store.discard(job.kind, job.id)
        return Ended("refused", str(error))
    except Interrupted as error:
        if not isinstance(job, Pretrain):  # short: begun again
            store.discard(job.kind, job.id)
        return Ended("stopped", str(error))
    except Exception as error:
        diverged = isinstance(error, RunFailed) and error.status == "diverged"
        reason = " ".join((str(error) or type(error).__name__).split())
        return Ended("diverged" if diverged else "failed", reason, traceback.format_exc(), final=diverged)


def _begun(job: Job, store: Store, machine: Machine, processes: int) -> Path:
    """The working directory of a job, with the records of what it is and where it runs."""
    if not isinstance(job, Pretrain):  # begun anew: what a killed try left is of no use
        store.discard(job.kind, job.id)
    work = store.work(job.kind, job.id)
    record = {"kind": job.kind, "id": job.id, "label": label(job.label), "science": job.science()}
    files.write_json(work / "recipe.json", record)
    environment = machine.environment(job.recipe if isinstance(job, Pretrain) else None)
    if processes > 1:
        environment["numerics"]["processes"] = processes
    if (work / "environment.json").exists():  # resumed: the numerics of every part are stamped
        with suppress(BadInput, KeyError, TypeError, AttributeError):  # a damaged stamp is not worth a training
            before = files.read_json(work / "environment.json")
            environment["earlier"] = [*before.get("earlier", ()), before["numerics"]]
    files.write_json(work / "environment.json", environment)
    return work


@dataclass(frozen=True)
class _Both:
    first: Progress
    second: Progress

    def __call__(self, done: int, total: int, stage: str = "", /, **figures: float) -> None:
        self.first(done, total, stage, **figures)
        self.second(done, total, stage, **figures)
