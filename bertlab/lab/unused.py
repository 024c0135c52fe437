"""Rejects options without effect, because their user expects one."""

import os
from collections.abc import Sequence

from bertlab.errors import BadInput
from bertlab.lab import scales
from bertlab.lab.jobs import Job, Measure
from bertlab.lab.scales import Scale
from bertlab.machine import Machine
from bertlab.tasks import kinds
from bertlab.text.sources import Located


def check_data(machine: Machine, located: Sequence[Located], jobs: Sequence[Job], world: bool) -> None:
    """Raises `BadInput` if no job uses `--data`; `BERTLAB_DATA` may be set without effect."""
    if machine.data is None or os.environ.get("BERTLAB_DATA") == str(machine.data):
        return
    measured = [each for job in jobs if isinstance(job, Measure) for each in job.tasks]
    paths = [*(path for each in located for path in each.files), *(each.folder for each in measured if each.folder)]
    inside = any(machine.data.resolve() in path.resolve().parents for path in paths)
    if not inside and (world or not measured):
        raise BadInput(
            f"--data {machine.data} has no effect: neither text nor tasks come from there; name a corpus with "
            "--corpus, or leave it out"
        )


def check_settings(scale: Scale, jobs: Sequence[Job]) -> None:
    """Raises `BadInput` if `--set` names settings that no measurement uses."""
    used = {job.settings.group(kinds.find(job.data.task.kind)) for job in jobs if isinstance(job, Measure)}
    for path in scale.assigned:
        if path.partition(".")[0] in set(scales.GROUPS) - used:
            raise BadInput(f"--set {path} has no effect: no measurement uses it, leave it out")


def recipe_only(assignments: Sequence[str]) -> None:
    """Raises `BadInput` if `--set` names settings of measurements, for commands that measure nothing."""
    for assignment in assignments:
        if assignment.startswith(tuple(f"{group}." for group in (*scales.GROUPS, "tasks"))):
            raise BadInput(f"--set {assignment}: this command measures no task, so it has no effect; leave it out")
