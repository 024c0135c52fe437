"""Trackers: MLflow, TensorBoard, trackio and Weights & Biases, one file each. What they hold changes no result."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

from bertlab.errors import FORBIDDEN, FULL, BadInput, first_line, install, unknown
from bertlab.trackers.base import Page, Tracker
from bertlab.trackers.lightning import Opener
from bertlab.trackers.mlflow import MLflow
from bertlab.trackers.tensorboard import TensorBoard
from bertlab.trackers.trackio import Trackio
from bertlab.trackers.wandb import Wandb

TRACKERS: dict[str, type[Tracker]] = {"mlflow": MLflow, "tensorboard": TensorBoard, "trackio": Trackio, "wandb": Wandb}
"""By the name that `--logger` takes, which is also the extra that installs it."""


def check(name: str | Opener) -> None:
    """Raises `BadInput` if there is no tracker of this name, or its package is not installed."""
    if isinstance(name, Opener):
        return
    if name not in TRACKERS:
        raise unknown("logger", name, TRACKERS)
    if not any(find_spec(package) for package in TRACKERS[name].packages):
        raise BadInput(f"--logger {name} is not installed: {install(name)}, or leave the option out")


@contextmanager
def ended(openers: Sequence[Opener]) -> Iterator[None]:
    """Ends the loggers that all pages share when no page needs them any more."""
    status = "failed"
    try:
        yield
        status = "success"
    finally:
        for opener in openers:
            if opener.shared:
                opener.chosen.finalize(status)


@contextmanager
def opened(chosen: Sequence[str | Opener], page: Page) -> Iterator[dict[str, Tracker]]:
    """The page in each of these trackers, by name, closed in the end. Raises `BadInput` if it cannot be opened."""
    openers = dict[str, Callable[[Page], Tracker]]()
    for index, choice in enumerate(chosen):
        if isinstance(choice, Opener):
            openers[f"{choice}-{index}"] = choice
        else:
            openers[choice] = TRACKERS[choice]
    trackers: dict[str, Tracker] = {}
    failed = True
    try:
        for name, opener in openers.items():
            try:
                page.folder.mkdir(parents=True, exist_ok=True)
                trackers[name] = opener(page)
            except Exception as error:  # whatever a package raises that has no account, no server or another version
                if isinstance(error, OSError) and error.errno in (*FULL, *FORBIDDEN):
                    raise
                why = first_line(error)
                advice = "correct that, or leave the option out"
                raise BadInput(f"--logger {name} cannot be opened ({why}): {advice}") from error
        yield trackers
        failed = False
    finally:
        for tracker in trackers.values():
            tracker.close(failed=failed)
