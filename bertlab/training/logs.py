"""Curves of a run for a lab's eyes: TensorBoard and Weights & Biases, by Lightning's loggers.

They lie beside the runs and are no part of them: what is told was computed anyway, and nothing reads it. A run that is
resumed repeats what it did after its last checkpoint, to the bit: what a logger was told before is not told again.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lightning.fabric.utilities.rank_zero import rank_zero_only
from lightning.pytorch.loggers import Logger, TensorBoardLogger, WandbLogger

from bertlab.errors import FORBIDDEN, FULL, BadInput
from bertlab.machine import Machine
from bertlab.names import label, plain
from bertlab.store.files import read_json, write_json
from bertlab.store.runs import Store

if TYPE_CHECKING:
    from bertlab.lab.jobs import Measure, Pretrain


@dataclass
class Curves:
    """One run in one logger."""

    logger: Logger
    hyperparameters: dict[str, Any]
    mark: Path
    """The file that holds the last step that each figure was told of."""
    told: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.told = read_json(self.mark) if self.mark.exists() else {}
        self.logger.log_hyperparams(self.hyperparameters)

    def tell(self, step: int, figures: Mapping[str, float], *, last: bool = False) -> None:
        """Logs figures of `step` that the logger has not been told of; the `last` ones beside the recipe."""
        new = {name: value for name, value in figures.items() if step > self.told.get(name, -1)}
        if not new:
            return
        if last and isinstance(self.logger, TensorBoardLogger):  # it shows a recipe beside figures, and not without
            self.logger.log_hyperparams(self.hyperparameters, new, step)
        else:
            self.logger.log_metrics(new, step)
        self.logger.save()
        self.told |= dict.fromkeys(new, step)
        write_json(self.mark, self.told)

    def end(self, status: str) -> None:
        """Closes the logger: another run of this process has its own."""
        self.logger.finalize(status)
        if isinstance(self.logger, WandbLogger):
            self.logger.experiment.finish(exit_code=int(status != "success"))


@dataclass(frozen=True)
class Log:
    """The loggers of one run."""

    curves: Sequence[Curves] = ()

    def __call__(self, step: int, figures: Mapping[str, float]) -> None:
        """Tells of figures after `step` updates."""
        for each in self.curves:
            each.tell(step, figures)

    def result(self, step: int, figures: Mapping[str, float]) -> None:
        """Tells what came out in the end."""
        for each in self.curves:
            each.tell(step, {f"result/{name}": value for name, value in figures.items()}, last=True)


NOWHERE = Log()
"""The log of a run that is not logged."""


class Pace:
    """Units per second between two looks."""

    def __init__(self) -> None:
        self.done, self.since = 0.0, time.monotonic()

    def __call__(self, done: float) -> float:
        """The pace since the last look, `done` units being done in all."""
        now = time.monotonic()
        pace = (done - self.done) / max(now - self.since, 1e-9)
        self.done, self.since = done, now
        return pace

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What is done within it takes no time."""
        began = time.monotonic()
        yield
        self.since += time.monotonic() - began


@contextmanager
def opened(job: Pretrain | Measure, store: Store, machine: Machine) -> Iterator[Log]:
    """The log of a run in the loggers of `machine`, closed in the end. For the process of it that writes.

    Raises `BadInput` if one of them cannot be opened.
    """
    if not machine.loggers:
        yield NOWHERE
        return
    # A worker inherits the rank that SLURM gave what started it; in its own training it is the first.
    rank_zero_only.rank = 0  # type: ignore[attr-defined]
    folder = store.logs(job.kind, job.id, job.label)
    with ExitStack() as stack:
        yield Log([stack.enter_context(_opened(name, job, folder)) for name in machine.loggers])


@contextmanager
def _opened(name: str, job: Pretrain | Measure, folder: Path) -> Iterator[Curves]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        curves = Curves(OPEN[name](job, folder), _hyperparameters(job), folder / f".{name}.json")
    except Exception as error:  # whatever a logger raises that has no account, no server or another version
        if isinstance(error, OSError) and error.errno in (*FULL, *FORBIDDEN):
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise BadInput(f"--logger {name} cannot be opened ({reason}): mend that, or leave it out") from error
    status = "failed"
    try:
        yield curves
        status = "success"
    finally:
        curves.end(status)


def _tensorboard(job: Pretrain | Measure, folder: Path) -> Logger:
    return TensorBoardLogger(folder, name="", version="", default_hp_metric=False)


def _wandb(job: Pretrain | Measure, folder: Path) -> Logger:
    import wandb

    return WandbLogger(
        name=label(job.label),
        id=job.id,
        save_dir=folder,
        project=os.environ.get("WANDB_PROJECT", "bertlab"),
        settings=wandb.Settings(console="off", silent=True),  # the console is this command's own
    )


OPEN: dict[str, Callable[[Pretrain | Measure, Path], Logger]] = {"tensorboard": _tensorboard, "wandb": _wandb}
"""How each of `machine.LOGGERS` is opened for a run, with a folder for what it writes."""


def _hyperparameters(job: Pretrain | Measure) -> dict[str, Any]:
    """What a run is and its recipe, defaults included."""
    named = {"kind": job.kind, "id": job.id, "label": job.label}
    fields = job.science() | {
        name: dataclasses.asdict(getattr(job, name)) for name in ("recipe", "settings") if hasattr(job, name)
    }
    found: dict[str, Any] = _plain(named | fields)
    return found


def _plain(value: Any) -> Any:
    """`value` as any logger can write it: names of data may hold what is no text."""
    if isinstance(value, Mapping):
        return {plain(str(name)): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return plain(value) if isinstance(value, str) else value
