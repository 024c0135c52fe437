"""Loggers of a training: the curve of a run as JSON lines, and TensorBoard and Weights & Biases beside it.

The last two write beside the runs, and no command reads their files. A resumed run repeats the steps after its last
checkpoint to the bit; these loggers get each step once.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from lightning.fabric.utilities.rank_zero import rank_zero_only
from lightning.pytorch.loggers import Logger, TensorBoardLogger, WandbLogger

from bertlab.errors import FORBIDDEN, FULL, BadInput
from bertlab.machine import Machine
from bertlab.names import label as short
from bertlab.names import plain
from bertlab.store.files import append_line, read_json, write_json
from bertlab.store.runs import Store


class JsonLinesLogger(Logger):
    """Appends a line to `metrics.jsonl` for each step that has metrics: losses in nats, no clock."""

    name = "metrics"
    version = ""
    PREFIXES: Mapping[str, str] = {"train/": "", "heldout/": "heldout_"}
    """Prefixes of the metrics to keep, and their prefixes in the file."""

    def __init__(self, work: Path) -> None:
        super().__init__()
        self.path = work / "metrics.jsonl"
        self.written = dict.fromkeys(self.PREFIXES, -1)  # the last step of each prefix

    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        """Does nothing: they are in `recipe.json`."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Writes new metrics: Lightning repeats the latest ones after each step that logs none."""
        for prefix, begin in self.PREFIXES.items():
            own = {name.removeprefix(prefix): value for name, value in metrics.items() if name.startswith(prefix)}
            line = {begin + name: value for name, value in own.items()}
            if line and step is not None and step > self.written[prefix]:
                self.written[prefix] = step
                append_line(self.path, {"step": step, **line})


class CurveLogger(Logger):
    """Another logger, which gets the metrics of each step once, however often a run is resumed."""

    name = "curve"
    version = ""

    def __init__(self, logger: Logger, hyperparameters: dict[str, Any], mark: Path) -> None:
        """`mark` is the file that holds the last step at which each metric was logged."""
        super().__init__()
        self.logger, self.hyperparameters, self.mark = logger, hyperparameters, mark
        self.logged: dict[str, int] = read_json(mark) if mark.exists() else {}
        logger.log_hyperparams(hyperparameters)

    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        """Does nothing: `__init__` logs them."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None, *, last: bool = False) -> None:
        """Logs the metrics of `step` that were not logged before; the `last` ones beside the hyperparameters."""
        assert step is not None
        new = {name: value for name, value in metrics.items() if step > self.logged.get(name, -1)}
        if not new:
            return
        if last and isinstance(self.logger, TensorBoardLogger):  # it shows hyperparameters only beside metrics
            self.logger.log_hyperparams(self.hyperparameters, new, step)
        else:
            self.logger.log_metrics(new, step)
        self.logger.save()
        self.logged |= dict.fromkeys(new, step)
        write_json(self.mark, self.logged)

    def log_result(self, step: int, metrics: Mapping[str, float]) -> None:
        """Logs the metrics of the finished run."""
        self.log_metrics({f"result/{name}": value for name, value in metrics.items()}, step, last=True)

    def end(self, failure: type[BaseException] | None, *_: Any) -> None:
        """Closes the other logger: another run of this process has its own. Lightning's `finalize` comes too early."""
        self.logger.finalize("failed" if failure else "success")
        if isinstance(self.logger, WandbLogger):
            self.logger.experiment.finish(exit_code=int(failure is not None))


class Throughput:
    """Units per second between two calls."""

    def __init__(self) -> None:
        self.done, self.since = 0.0, time.monotonic()

    def __call__(self, done: float) -> float:
        """The throughput since the last call, `done` units being done in all."""
        now = time.monotonic()
        throughput = (done - self.done) / max(now - self.since, 1e-9)
        self.done, self.since = done, now
        return throughput


@contextmanager
def opened(
    kind: str, run_id: str, label: str, fields: Mapping[str, Any], store: Store, machine: Machine
) -> Iterator[Sequence[CurveLogger]]:
    """The loggers of `machine` for a run, closed in the end. `fields` are what defines it, defaults included.

    Only the process that writes calls it. Raises `BadInput` if a logger cannot be opened.
    """
    # A worker inherits the SLURM rank of the process that started it; in its own training it is the first.
    rank_zero_only.rank = 0  # type: ignore[attr-defined]
    folder = store.logs(kind, run_id, label)
    hyperparameters = _plain({"kind": kind, "id": run_id, "label": label} | dict(fields))
    loggers: list[CurveLogger] = []
    with ExitStack() as stack:
        for name in machine.loggers:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                logger = OPEN[name](run_id, label, folder)
                loggers.append(CurveLogger(logger, hyperparameters, folder / f".{name}.json"))
            except Exception as error:  # whatever a logger raises that has no account, no server or another version
                if isinstance(error, OSError) and error.errno in (*FULL, *FORBIDDEN):
                    raise
                reason = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise BadInput(f"--logger {name} cannot be opened ({reason}): mend that, or leave it out") from error
            stack.push(loggers[-1].end)
        yield loggers


def _wandb(run_id: str, label: str, folder: Path) -> Logger:
    import wandb

    return WandbLogger(
        name=short(label),
        id=run_id,
        save_dir=folder,
        project=os.environ.get("WANDB_PROJECT", "bertlab"),
        settings=wandb.Settings(console="off", silent=True),  # the console is this command's own
    )


OPEN: dict[str, Callable[[str, str, Path], Logger]] = {
    "tensorboard": lambda _id, _label, folder: TensorBoardLogger(folder, name="", version="", default_hp_metric=False),
    "wandb": _wandb,
}
"""How each of `machine.LOGGERS` is opened, with the id and the label of a run and a folder for what it writes."""


def _plain(value: Any) -> Any:
    """`value` as any logger can write it: names of data may hold what is no text."""
    if isinstance(value, Mapping):
        return {plain(str(name)): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return plain(value) if isinstance(value, str) else value
