"""Runs jobs with live progress, and prints why some have no result."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bertlab.cli.console import complain

if TYPE_CHECKING:
    from bertlab.lab.jobs import Job
    from bertlab.machine import Machine
    from bertlab.store.runs import Store


def carry_out(
    jobs: Sequence[Job],
    store: Store,
    machine: Machine,
    *,
    retry: bool = False,
    quiet: bool = False,
    on_training: Callable[[], None] = lambda: None,
) -> bool:
    """Runs the unfinished ones of `jobs`; returns whether all have a result.

    Reads all tasks first. Calls `on_training` when the first training begins, and at the end. With `quiet`, progress
    goes to standard error. Raises `BadInput`, without leaving a new store behind.
    """
    from bertlab.cli.live import Live
    from bertlab.cli.plan_table import require_room
    from bertlab.errors import BadInput
    from bertlab.execution import environment
    from bertlab.execution.attempt import one_line
    from bertlab.execution.schedule import execute
    from bertlab.lab.jobs import Measure, read_task
    from bertlab.lab.plan import in_order
    from bertlab.progress import signals_as_flags

    environment.require_memory()
    done = {run.id for run in store.runs()}
    pending = [job for job in jobs if job.id not in done]
    for data in (data for job in pending if isinstance(job, Measure) for data in job.tasks):
        read_task(data, machine)
    require_room(pending, store)
    fresh = not store.root.exists()
    store.prepare()
    if retry:
        for job in pending:
            store.clear_failure(job.id)
    stream = contextlib.redirect_stdout(sys.stderr) if quiet else contextlib.nullcontext()
    try:
        ids = [job.id for job in in_order(jobs)]
        with stream, signals_as_flags(), store.reserved(ids), Live() as live:
            lost = execute(jobs, store, machine, live, on_training)
            on_training()
    except BadInput:
        if fresh:
            store.remove_if_empty()
        raise
    if lost:
        complain(f"{len(lost)} of {len(jobs)} jobs have no result (see `bertlab runs`):")
    for job in lost:
        failure = store.failure(job.id)
        reason = one_line(failure["status"], failure["reason"]) if failure else "a job that it needs has failed"
        complain(f"  {job.kind} {job.label}: {reason}")
    return not lost
