"""Live progress of jobs: bars on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import console, say
from bertlab.lab.jobs import ImportCheckpoint, Job, PrepareCorpus, Pretrain
from bertlab.names import visible
from bertlab.wording import duration

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn, TaskID

    from bertlab.progress import Progress
    from bertlab.store.runs import Run

SECONDS_BETWEEN_LINES = 15.0
"""If the output is not a terminal."""

SECONDS_BETWEEN_FRAMES = 0.1


class Live:
    """An observer (see `execution.schedule`) that shows running jobs and prints a line for each finished job."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.bars = _bars() if console().is_terminal else None
        self.shown: dict[str, TaskID] = {}
        """The bars of running jobs by id."""

    def __enter__(self) -> Live:
        if self.bars is not None:
            self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bars is not None:
            self.bars.stop()

    def begin(self, job: Job, number: int, total: int) -> Progress:
        """Shows a job; returns its progress callback."""
        if self.bars is None:
            return _Lines(f"[{number}/{total}] {title(job)}")
        if job.id in self.shown:  # it begins again after another command had claimed it
            self.bars.remove_task(self.shown.pop(job.id))
        bar = _Bar(self.bars, title(job), number - len(self.shown), total)
        self.shown[job.id] = bar.task
        return bar

    def end(self, job: Job, run: Run, seconds: float) -> None:
        """Prints a line for a finished job."""
        self._line(job, f"{title(job)}: {outcome(job, run)} in {duration(seconds)}")

    def failed(self, job: Job, reason: str, *, again: bool) -> None:
        """Prints a line for a job without a result."""
        self._line(job, f"{title(job)}: {reason}{'; trying once more' if again else ''}")

    def _line(self, job: Job, text: str) -> None:
        if self.bars is not None and job.id in self.shown:
            self.bars.remove_task(self.shown.pop(job.id))
        say(text)


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


class _Bar:
    """The progress of a job as a bar below that of the plan."""

    def __init__(self, bars: Bars, name: str, number: int, total: int) -> None:
        self.bars, self.frame, self.stage = bars, 0.0, ""
        if not bars.task_ids:
            bars.add_task("all jobs", total=total, figures="")
        bars.update(bars.task_ids[0], completed=number - 1)
        self.task = bars.add_task(name, total=None, figures="")

    def __call__(self, done: int, total: int, stage: str = "", /, **figures: float) -> None:
        now = time.monotonic()
        if stage != self.stage:
            self.stage = stage
            self.bars.reset(self.task, total=total, completed=done)
        if now - self.frame < SECONDS_BETWEEN_FRAMES and done < total:
            return
        self.frame = now
        self.bars.update(self.task, completed=done, total=total, figures=shown(figures, stage))


class _Lines:
    """The progress of a job as a line now and then."""

    def __init__(self, name: str) -> None:
        self.name, self.last, self.stage = name, 0.0, ""

    def __call__(self, done: int, total: int, stage: str = "", /, **figures: float) -> None:
        now = time.monotonic()
        if stage == self.stage and (now - self.last < SECONDS_BETWEEN_LINES):
            return
        self.last, self.stage = now, stage
        at = f"{done:,}/{total:,}" if total else f"{done:,}"  # the size of a text is not known before it is read
        say(f"{self.name}: {at} {shown(figures, stage)}".rstrip())


def shown(figures: dict[str, float], stage: str) -> str:
    """Figures beside a bar, such as `loss 2.31 41,200 tokens/s`."""
    texts = [visible(stage)]
    for name, value in figures.items():
        words = name.replace("_per_second", "/s").replace("_", " ")
        texts.append(f"{value:,.0f} {words}" if "/s" in words else f"{words} {value:.3f}")
    return "  ".join(text for text in texts if text)


def _bars() -> Any:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns: list[ProgressColumn] = [
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        TextColumn("{task.fields[figures]}", markup=False),
    ]
    return Progress(*columns, console=console(), transient=True, refresh_per_second=5)
