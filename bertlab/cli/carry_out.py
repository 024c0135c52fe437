"""Runs jobs with live progress (bars on a terminal, lines elsewhere), and prints why some have no result."""

import contextlib
import sys
import time
from collections.abc import Callable, Sequence

from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from bertlab.cli.console import complain, console, say
from bertlab.cli.plan_table import require_room
from bertlab.errors import BadInput
from bertlab.execution import environment
from bertlab.execution.attempt import one_line
from bertlab.execution.schedule import execute
from bertlab.lab.jobs import ImportCheckpoint, Job, Measure, PrepareCorpus, Pretrain, read_task
from bertlab.machine import Machine
from bertlab.names import visible
from bertlab.progress import Progress, signals_as_flags
from bertlab.store.runs import Run, Store
from bertlab.wording import duration

SECONDS_BETWEEN_LINES = 15.0
"""If the output is not a terminal."""


def carry_out(
    jobs: Sequence[Job],
    store: Store,
    machine: Machine,
    *,
    retry: bool = False,
    quiet: bool = False,
    on_training: Callable[[], object] = lambda: None,
) -> bool:
    """Runs the unfinished ones of `jobs`; returns whether all have a result.

    Reads all tasks first. Calls `on_training` when the first training begins. With `quiet`, progress goes to standard
    error. Raises `BadInput`, without leaving a new store behind.
    """
    environment.require_memory()
    done = {run.id for run in store.runs()}
    pending = [job for job in jobs if job.id not in done]
    for data in (data for job in pending if isinstance(job, Measure) for data in job.tasks):
        read_task(data)
    require_room(pending, store)
    fresh = not store.root.exists()
    store.prepare()
    if retry:
        for job in pending:
            store.clear_failure(job.id)
    stream = contextlib.redirect_stdout(sys.stderr) if quiet else contextlib.nullcontext()
    try:
        with stream, signals_as_flags(), store.reserved(job.id for job in jobs), _bars() as bars:
            lost = execute(jobs, store, machine, Live(bars), on_training)
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


def _bars() -> Bars:
    return Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        TextColumn("{task.fields[figures]}", markup=False),
        console=console(),
        transient=True,
        refresh_per_second=5,
        disable=not console().is_terminal,
    )


class Live:
    """An observer (see `execution.schedule`) that shows running jobs and prints a line for each finished job."""

    def __init__(self, bars: Bars) -> None:
        self.bars = bars
        self.shown: dict[str, TaskID] = {}
        """The bars of running jobs by id."""

    def begin(self, job: Job, number: int, total: int) -> Progress:
        """Shows a job; returns its progress callback."""
        if self.bars.disable:
            return _lines(f"[{number}/{total}] {title(job)}")
        self._hide(job)  # it begins again after another command had claimed it
        if not self.bars.task_ids:
            self.bars.add_task("all jobs", total=total, figures="")
        self.bars.update(self.bars.task_ids[0], completed=number - 1 - len(self.shown))
        bar = self.shown[job.id] = self.bars.add_task(title(job), total=None, figures="")

        def progress(done: int, total: int, stage: str = "", /, **figures: float) -> None:
            self.bars.update(bar, completed=done, total=total, figures=shown(figures, stage))

        return progress

    def end(self, job: Job, run: Run, seconds: float) -> None:
        """Prints a line for a finished job."""
        self._hide(job)
        say(f"{title(job)}: {outcome(job, run)} in {duration(seconds)}")

    def failed(self, job: Job, reason: str, *, again: bool) -> None:
        """Prints a line for a job without a result."""
        self._hide(job)
        say(f"{title(job)}: {reason}{'; trying once more' if again else ''}")

    def _hide(self, job: Job) -> None:
        if job.id in self.shown:
            self.bars.remove_task(self.shown.pop(job.id))


def _lines(name: str) -> Progress:
    """The progress of a job as a line now and then."""
    last, at = 0.0, ""

    def progress(done: int, total: int, stage: str = "", /, **figures: float) -> None:
        nonlocal last, at
        now = time.monotonic()
        if stage == at and now - last < SECONDS_BETWEEN_LINES:
            return
        last, at = now, stage
        units = f"{done:,}/{total:,}" if total else f"{done:,}"  # the size of a text is not known before it is read
        say(f"{name}: {units} {shown(figures, stage)}".rstrip())

    return progress


def title(job: Job) -> str:
    """The name of a job on a terminal."""
    if isinstance(job, PrepareCorpus):
        text = f"corpus {' + '.join(source.name for source in job.corpus.sources)}"
    elif isinstance(job, Pretrain):
        text = f"pre-train {job.name} seed {job.seed}"
    elif isinstance(job, ImportCheckpoint):
        text = f"import {job.label}"
    else:
        text = f"measure {job.name} pre-training seed {job.pretrain.seed} fine-tuning seed {job.finetune_seed}"
    return visible(text)


def outcome(job: Job, run: Run) -> str:
    """The main figures of a finished job."""
    result = run.result()
    if isinstance(job, PrepareCorpus):
        return f"{result['train']['tokens']:,} tokens, vocabulary {result['vocabulary']:,}"
    if isinstance(job, Pretrain):
        figure = result["judged_by"]
        return f"held-out loss {result['heldout'][figure]:.3f} nats" if figure else f"{result['steps']:,} steps"
    if isinstance(job, ImportCheckpoint):
        return f"{result['parameters']:,} parameters, vocabulary {result['vocabulary']:,}"
    figures = ", ".join(f"{name} {value:.1f}" for name, value in result["metrics"].items())
    return figures + (" (collapsed: one answer for all examples)" if result["status"] == "collapsed" else "")


def shown(figures: dict[str, float], stage: str) -> str:
    """Figures beside a bar, such as `loss 2.31 41,200 tokens/s`."""
    texts = [visible(stage)]
    for name, value in figures.items():
        words = name.replace("_per_second", "/s").replace("_", " ")
        texts.append(f"{value:,.0f} {words}" if "/s" in words else f"{words} {value:.3f}")
    return "  ".join(text for text in texts if text)
