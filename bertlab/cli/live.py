"""Shows running jobs: bars on a terminal, elsewhere lines with the time of day."""

import sys
import time
from collections.abc import Mapping, Sequence

from rich.progress import BarColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from bertlab.cli.console import console, say
from bertlab.estimates.eta import Eta
from bertlab.lab.jobs import Job
from bertlab.names import label, visible
from bertlab.progress import Progress
from bertlab.report.units import is_diagnostic
from bertlab.store import addresses
from bertlab.store.run import Run
from bertlab.tasks.kinds.scoring import of_all_examples
from bertlab.wording import duration

SECONDS_BETWEEN_LINES = 15.0
"""The time between two lines about a job, where the output is not a terminal."""
SECONDS_BETWEEN_ESTIMATES = 1.0
"""The time between two estimates of the time left."""
COUNTED = 13
"""Characters of the numbers of a bar; where they are longer, its figures have less room."""
FIXED = COUNTED + 8 + 4
"""Characters of the numbers of a bar, of its time left, and between its parts."""
LEAST_OF_A_MEASUREMENT = 5
"""Characters of a measurement that say which one it is, such as `NE…ed`."""


class Live(Bars):
    """An observer (see `execution.schedule`) that shows running jobs and prints a line for each finished job."""

    def __init__(self, eta: Eta) -> None:
        self.eta = eta
        self.left, self.estimated = "", 0.0
        bar = 10 if console().width < 120 else 16
        free = max(32, console().width - FIXED - bar)
        self.widths = free // 2, free - free // 2
        """Characters of the name of a job, and of its figures."""
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=bar),
            TextColumn("{task.fields[units]}", markup=False),
            Left(compact=True, elapsed_when_finished=True),
            TextColumn("{task.fields[figures]}", markup=False),
            console=console(),
            transient=True,
            refresh_per_second=5,
            disable=not console().is_terminal,
        )
        self.shown: dict[str, TaskID] = {}
        """The bars of running jobs by id."""
        self.addresses: dict[str, list[str]] = {}
        """Addresses of runs by id."""

    def begin(self, job: Job, number: int, total: int) -> Progress:
        """Shows a job; returns its progress callback: a bar, or a line now and then."""
        count, by_run = f"[{number:,}/{total:,}]", self.addresses
        name = f"{count} {title(job, by_run)}"
        self._hide(job)  # it begins again after another command had locked it
        self.eta.begin(job)
        if not self.task_ids:
            self.add_task("all jobs", total=total, units="", figures="", left="")
        done = number - 1 - len(self.shown)
        self.update(self.task_ids[0], completed=done, units=f"{done:,}/{total:,}")
        name_beside = brief(count, job, by_run, self.widths[0])
        bar = self.shown[job.id] = self.add_task(name_beside, total=None, units="", figures="")
        last, at = 0.0, ""

        def progress(done: int, total: int, stage: str = "", /, **figures: float) -> None:
            nonlocal last, at
            if total > 1:  # a stage of one unit, as training a vocabulary, has no speed
                self.eta.at(job, done / total)
            self._estimate()
            units = f"{done:,}/{total:,}" if total else f"{done:,}"  # the size of a text is not known at first
            room = self.widths[1] - max(0, len(units) - COUNTED)
            texts = shown(figures, "" if stage == "pre-training" else stage, room)  # the name of the job says that
            self.update(bar, completed=done, total=total or None, units=units, figures=texts)
            now = time.monotonic()
            if self.disable and (stage != at or now - last >= SECONDS_BETWEEN_LINES):
                last, at = now, stage
                left = f"; all jobs: {self.left}" if self.left else ""
                self._log(f"{name}: {units} {shown(figures, stage)}".rstrip() + left)

        return progress

    def end(self, job: Job, run: Run, seconds: float) -> None:
        """Prints a line for a finished job."""
        self._hide(job)
        self.eta.end(job)
        result = run.result()
        loss = result.judged_by  # of a pre-training
        names = [name for name in of_all_examples(result.metrics) if not is_diagnostic(name)]
        of_answers = {name: result.metrics[name] for name in names}
        metrics = {f"held-out {loss}": result.heldout.get(loss)} if loss else of_answers
        figures = {name: value for name, value in metrics.items() if value is not None}
        stage = "collapsed: one answer for all examples" if result.status == "collapsed" else ""
        self._log(f"{title(job, self.addresses)}: {duration(seconds)}  {shown(figures, stage)}".rstrip())

    def failed(self, job: Job, reason: str, *, again: bool) -> None:
        """Prints a line for a job without a result."""
        self._hide(job)
        self.eta.end(job, done=False)
        if again:
            self.eta.jobs[job.id] = job
        self._log(f"{title(job, self.addresses)}: {reason}{'; trying once more' if again else ''}")

    def _hide(self, job: Job) -> None:
        if job.id in self.shown:
            self.remove_task(self.shown.pop(job.id))

    def _estimate(self) -> None:
        """Updates the time until all jobs have ended."""
        now = time.monotonic()
        if now - self.estimated >= SECONDS_BETWEEN_ESTIMATES:
            left, self.estimated = self.eta.seconds(), now
            self.left = f"{'~' * self.eta.guessed}{duration(left)} left" if left else ""
            self.update(self.task_ids[0], left=self.left)

    def _log(self, text: str) -> None:
        """Prints a line, in a log with its time."""
        say(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}" if self.disable else text)


class Left(TimeRemainingColumn):
    """The time left: of all jobs the estimate, of a job what its speed says."""

    max_refresh = 0.0

    def render(self, task: Task) -> Text:
        """`12 min left` (`~12 min left` for a guess) or `03:20`; empty where it is unknown."""
        if "left" in task.fields:
            return Text(task.fields["left"])
        return Text("") if task.total is None or task.time_remaining is None else super().render(task)


def title(job: Job, addresses_by_run: Mapping[str, Sequence[str]]) -> str:
    """The kind and the name of a job, as `bertlab runs` lists it and commands accept it."""
    return f"{job.kind} {_address(job, addresses_by_run)}"


def brief(count: str, job: Job, addresses_by_run: Mapping[str, Sequence[str]], width: int) -> str:
    """`count` and the title of a job in at most `width` characters.

    Leaves out the kind, then the study, then `count`, and then the middle of the measurement: variants and seeds, which
    tell the jobs of a study apart, go last.
    """
    name = _address(job, addresses_by_run)
    _, slash, rest = name.partition("/")
    shorter = [f"{count} …/{rest}", rest] if slash else []
    for text in (f"{count} {job.kind} {name}", f"{count} {name}", *shorter):
        if len(text) <= width:
            return text
    run, seed, measurement = rest.rpartition(f"/{job.seed}/")
    if seed and (room := width - len(run + seed)) >= LEAST_OF_A_MEASUREMENT:
        return run + seed + shortened(measurement, room)
    return shortened(rest or f"{count} {name}", width)


def _address(job: Job, addresses_by_run: Mapping[str, Sequence[str]]) -> str:
    return visible(addresses.shown(label(job.label), addresses_by_run.get(job.id, ())))


def shown(figures: Mapping[str, float], stage: str, width: int = sys.maxsize) -> str:
    """Figures beside a bar, such as `loss 2.310  41,200 tokens/s`: the first ones that fit into `width` characters."""
    text = shortened(visible(stage), width)
    for name, value in figures.items():
        words = name.replace("_per_second", "/s").replace("_", " ")
        figure = f"{value:,.0f} {words}" if "/s" in words else f"{words} {value:.3f}"
        longer = f"{text}  {figure}" if text else figure
        if len(longer) > width:  # part of a number is another number
            break
        text = longer
    return text


def shortened(text: str, width: int) -> str:
    """`text` in at most `width` characters, without its middle."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"
