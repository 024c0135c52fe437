"""Trackers: TensorBoard, Weights & Biases and trackio, one file each. What they hold changes no result."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

from bertlab.errors import FORBIDDEN, FULL, BadInput, install, unknown
from bertlab.trackers.base import Page, Tracker
from bertlab.trackers.tensorboard import TensorBoard
from bertlab.trackers.trackio import Trackio
from bertlab.trackers.wandb import Wandb

TRACKERS: dict[str, type[Tracker]] = {"tensorboard": TensorBoard, "trackio": Trackio, "wandb": Wandb}
"""By the name that `--logger` takes, which is also the extra that installs it."""


def check(name: str) -> None:
    """Raises `BadInput` if there is no tracker of this name, or its package is not installed."""
    if name not in TRACKERS:
        raise unknown("logger", name, TRACKERS)
    if not any(find_spec(package) for package in TRACKERS[name].packages):
        raise BadInput(f"--logger {name} is not installed: {install(name)}, or leave the option out")


@contextmanager
def opened(names: Sequence[str], page: Page) -> Iterator[dict[str, Tracker]]:
    """The page in each of these trackers, by name, closed in the end. Raises `BadInput` if it cannot be opened."""
    found: dict[str, Tracker] = {}
    failed = True
    try:
        for name in names:
            try:
                page.folder.mkdir(parents=True, exist_ok=True)
                found[name] = TRACKERS[name](page)
            except Exception as error:  # whatever a package raises that has no account, no server or another version
                if isinstance(error, OSError) and error.errno in (*FULL, *FORBIDDEN):
                    raise
                reason = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise BadInput(
                    f"--logger {name} cannot be opened ({reason}): correct that, or leave the option out"
                ) from error
        yield found
        failed = False
    finally:
        for tracker in found.values():
            tracker.close(failed=failed)
