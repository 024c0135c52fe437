"""What a study may cost: a time, or a number of runs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bertlab.errors import BadInput
from bertlab.estimates.cost import Seconds, wall_seconds
from bertlab.lab.jobs import Job
from bertlab.machine import Machine
from bertlab.wording import duration, pluralise

UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0}
"""The seconds of each unit of time."""


@dataclass(frozen=True)
class Budget:
    """The most that all runs of some claims may cost, finished ones included; without a limit by default."""

    seconds: float | None = None
    runs: int | None = None
    """The most pre-trainings and measurements."""

    @classmethod
    def parse(cls, text: str) -> "Budget":
        """The budget of `--budget`: `90m`, `2h`, `1d` or `40runs`; none for an empty text."""
        if not text:
            return cls()
        match = re.fullmatch(r"(?a:(\d{1,9}(?:\.\d{1,3})?) ?(m|h|d|runs?))", text)
        amount = float(match[1]) if match else 0.0
        if not match or amount <= 0 or (match[2].startswith("run") and not amount.is_integer()):
            raise BadInput(f"--budget is {text[:40]!r}: give a time such as 90m, 2h or 1d, or a number such as 40runs")
        return cls(runs=int(amount)) if match[2].startswith("run") else cls(seconds=amount * UNITS[match[2]])

    @property
    def limit(self) -> float | None:
        """The number of runs or of seconds."""
        return self.seconds if self.runs is None else self.runs

    def cost(self, jobs: Sequence[Job], machine: Machine, seconds: Seconds) -> float:
        """What jobs cost, in runs or in seconds on this machine; without a limit in seconds, or runs if unknown.

        Raises `BadInput` if a time is to be kept and that of a run is unknown. Preparing text is free: it happens once.
        """
        runs = [job for job in jobs if not job.preparation]
        time = wall_seconds(runs, machine, seconds) if self.runs is None else None
        if time is None and self.seconds is not None:
            raise BadInput("--budget: the time of a run is unknown here: give a number of runs, such as 40runs")
        return float(len(runs)) if time is None else time

    def worded(self, cost: float) -> str:
        """A cost with its unit."""
        return pluralise(int(cost), "run") if self.seconds is None else duration(cost)
