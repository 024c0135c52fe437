"""Carries out a plan in this process, one job after the other, on one device."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from typing import Protocol

from bertlab import store as files
from bertlab.errors import BadInput, RunFailed
from bertlab.jobs import Job, Pretrain, needs
from bertlab.machine import Machine
from bertlab.progress import Interrupted, Progress, stop_if_asked
from bertlab.store import Run, Store


class Observer(Protocol):
    """Told of each job; the command line draws it."""

    def begin(self, job: Job, number: int, total: int) -> Progress:
        """Job `number` of `total` starts; what is returned is told of its progress."""

    def end(self, job: Job, run: Run, seconds: float) -> None:
        """The job is finished."""

    def failed(self, job: Job, reason: str) -> None:
        """The job ended without a result."""


def execute(
    jobs: Sequence[Job], store: Store, machine: Machine, observer: Observer, started: Callable[[], None]
) -> list[Job]:
    """Runs the jobs that are not finished yet, each after those that it needs, and returns those that failed.

    A failure is kept in the store with its reason, and what does not depend on it goes on; `diverged` is final.
    `started` is called when corpora and checkpoints are ready and the first training begins. `BadInput` and
    `Interrupted` end everything.
    """
    lost: list[Job] = []
    training = False
    for number, job in enumerate(jobs, start=1):
        stop_if_asked()
        failure = store.failure(job.id)
        if any(needed in lost for needed in needs(job)) or (failure and failure["status"] == "diverged"):
            lost.append(job)
            continue
        if not training and job.kind not in ("corpus", "import"):
            training = True
            started()
        with store.claimed(job.id):
            if store.get(job.id) is not None:
                continue
            try:
                observer.end(job, *_run(job, store, machine, observer.begin(job, number, len(jobs))))
            except BadInput:
                store.discard(job.kind, job.id)
                raise
            except Interrupted:
                if not isinstance(job, Pretrain):  # short: begun again
                    store.discard(job.kind, job.id)
                raise
            except Exception as error:
                status = error.status if isinstance(error, RunFailed) else "failed"
                reason = str(error) or type(error).__name__
                store.fail(
                    {
                        "id": job.id,
                        "kind": job.kind,
                        "label": files.label(job.label),
                        "status": status,
                        "reason": " ".join(reason.split()),
                        "log": traceback.format_exc(),
                        "science": job.science(),
                    }
                )
                lost.append(job)
                observer.failed(job, f"{status}: {reason}")
    return lost


def _run(job: Job, store: Store, machine: Machine, progress: Progress) -> tuple[Run, float]:
    began = time.monotonic()
    if not isinstance(job, Pretrain):  # begun anew: what a killed try left is of no use
        store.discard(job.kind, job.id)
    work = store.work(job.kind, job.id)
    record = {"kind": job.kind, "id": job.id, "label": files.label(job.label), "science": job.science()}
    files.write_json(work / "recipe.json", record)
    environment = machine.environment()
    if (work / "environment.json").exists():  # resumed: the numerics of every part are stamped
        before = files.read_json(work / "environment.json")
        environment["earlier"] = [*before.get("earlier", ()), before["numerics"]]
    files.write_json(work / "environment.json", environment)
    result = job.run(work, store, machine, progress)
    seconds = time.monotonic() - began
    if not isinstance(job, Pretrain):  # which keeps its own times, across interruptions
        files.append_line(work / "timing.jsonl", {"stage": job.kind, "step": 0, "seconds": round(seconds, 3)})
    files.write_json(work / "result.json", result)
    return store.finish(job.kind, job.id, job.label), seconds
