"""This process as the one that carries out jobs, one after the other, on one device."""

from __future__ import annotations

from bertlab.execution.attempt import Ended, attempt
from bertlab.lab.jobs import Job
from bertlab.machine import Machine
from bertlab.progress import Progress
from bertlab.store.runs import Store


class ThisProcess:
    """An engine (see `schedule.Engine`) of one device."""

    def __init__(self, store: Store, machine: Machine) -> None:
        self.store, self.machine = store, machine
        self.finished: list[tuple[Job, Ended]] = []

    def devices(self, job: Job) -> int:
        """One."""
        return 1

    def free(self) -> int:
        """One, until the last job has been collected."""
        return 0 if self.finished else 1

    def begin(self, job: Job, progress: Progress) -> None:
        """Carries the job out, to its end."""
        self.finished.append((job, attempt(job, self.store, self.machine, progress)))

    def ended(self) -> list[tuple[Job, Ended]]:
        """The job that was begun."""
        ended, self.finished = self.finished, []
        return ended
