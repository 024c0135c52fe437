"""Loggers of a training: the curve of a run as JSON lines, and the trackers beside it.

Trackers write beside the runs, and no command reads their files. A resumed run repeats the steps after its last
checkpoint to the bit; trackers get each step once.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger

from bertlab import trackers
from bertlab.machine import Machine
from bertlab.names import label as short
from bertlab.names import plain, plain_data
from bertlab.store.files import read_json
from bertlab.store.runs import Store
from bertlab.store.writes import append_line, write_json
from bertlab.trackers.base import Page, Tracker


class JsonLinesLogger(Logger):
    """Appends a line to `metrics.jsonl` for each step that has metrics: losses in nats, no clock."""

    name = "metrics"
    version = ""
    PREFIXES: Mapping[str, str] = {"train/": "", "heldout/": "heldout_"}
    """Prefixes of the metrics to keep, and their prefixes in the file."""

    def __init__(self, work: Path) -> None:
        super().__init__()
        self.path = work / "metrics.jsonl"

    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        """Does nothing: they are in `recipe.json`."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Writes those of the training and of its evaluations."""
        for prefix, begin in self.PREFIXES.items():
            figures = {name.removeprefix(prefix): value for name, value in metrics.items() if name.startswith(prefix)}
            line = {begin + name: value for name, value in figures.items()}
            if line:
                append_line(self.path.parent, self.path.name, {"step": step, **line})


class CurveLogger(Logger):
    """A tracker as Lightning's logger, which gets the metrics of each step once, however often a run is resumed."""

    name = "curve"
    version = ""

    def __init__(self, tracker: Tracker, mark: Path) -> None:
        """`mark` is the file that holds the last step at which each metric was logged."""
        super().__init__()
        self.tracker, self.mark = tracker, mark
        self.logged: dict[str, int] = read_json(mark, dict[str, int]) if mark.exists() else {}

    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        """Does nothing: the tracker's page has them."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None, *, last: bool = False) -> None:
        """Logs the metrics of `step` that were not logged before; the `last` ones are those of the finished run."""
        assert step is not None
        new = {name: value for name, value in metrics.items() if step > self.logged.get(name, -1)}
        if not new:
            return
        (self.tracker.finish if last else self.tracker.log)(new, step)
        self.logged |= dict.fromkeys(new, step)
        write_json(self.mark.parent, self.mark.name, self.logged)

    def log_result(self, step: int, metrics: Mapping[str, float]) -> None:
        """Logs the metrics of the finished run."""
        self.log_metrics({f"result/{name}": value for name, value in metrics.items()}, step, last=True)


class ThroughputMeter:
    """Units per second between two calls."""

    def __init__(self) -> None:
        self.done, self.since = 0.0, time.monotonic()

    def __call__(self, done: float) -> float:
        """The throughput since the last call; `done` is the number of units so far."""
        now = time.monotonic()
        throughput = (done - self.done) / max(now - self.since, 1e-9)
        self.done, self.since = done, now
        return throughput


@contextmanager
def opened(
    kind: str, run_id: str, label: str, study: str, fields: Mapping[str, Any], store: Store, machine: Machine
) -> Iterator[Sequence[CurveLogger]]:
    """The loggers of `machine` for a run, closed in the end. `fields` are what defines it, defaults included.

    Only the process that writes calls it. Raises `BadInput` if a logger cannot be opened.
    """
    page = Page(
        id=run_id,
        name=short(label),
        group=plain(study),
        kind=kind,
        folder=store.logs(study, kind, run_id, label),
        fields=plain_data({"kind": kind, "id": run_id, "label": label} | dict(fields)),
    )
    with trackers.opened(machine.loggers, page) as opened_trackers:
        yield [CurveLogger(tracker, page.folder / f".{name}.json") for name, tracker in opened_trackers.items()]
