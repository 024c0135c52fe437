"""Progress callbacks, and signals that stop long work."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Protocol


class Progress(Protocol):
    """Called by long work with its progress; the command line shows it."""

    def __call__(self, done: int, total: int, stage: str = "", /, **figures: float) -> None:
        """Shows that `done` of `total` units of `stage` are finished, with `figures` such as loss and tokens/s."""


def silent(done: int, total: int, stage: str = "", /, **figures: float) -> None:
    """Ignores progress."""


class Interrupted(BaseException):
    """A signal stops the process. Loops save their state before they raise this."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number

    def __reduce__(self) -> tuple[type[Interrupted], tuple[int]]:
        return Interrupted, (self.number,)  # errors are pickled between processes


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
"""Clusters send SIGUSR1 before they preempt a machine."""

_received: list[int] = []
_flags: list[Path] = []
_looked = [0.0]
SECONDS_BETWEEN_LOOKS = 0.3
"""At the flag files, which may be on a network file system."""


def asked_to_stop() -> bool:
    """Whether a signal stops this process, or its parent through a flag file."""
    if _flags and not _received and (now := time.monotonic()) - _looked[0] > SECONDS_BETWEEN_LOOKS:
        _looked[0] = now
        if any(flag.exists() for flag in _flags):
            _received.append(signal.SIGTERM)
    return bool(_received)


def stop_if_asked() -> None:
    """Raises `Interrupted` if a signal stops this process. Long loops call it in each iteration."""
    if asked_to_stop():
        raise Interrupted(_received[0])


@contextmanager
def listening_to(flag: Path) -> Iterator[None]:
    """The existence of the file `flag` stops this process; signals reach only its parent."""
    _received.clear()
    _flags.append(flag)
    _looked[0] = 0.0
    try:
        yield
    finally:
        _flags.remove(flag)


@contextmanager
def signals_as_flags() -> Iterator[None]:
    """A signal only sets a flag that loops check; a second signal ends the process at once.

    Outside of the main thread, which alone can set handlers, signals keep theirs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        if _received:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        _received.append(number)
        if sys.stderr is not None and sys.stderr.isatty():  # not through `rich`, whose lock the signal may interrupt
            os.write(2, b"\nstopping after this step; a second signal ends at once\n")

    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _received.clear()


def end_with_parent() -> None:
    """Ends this process, a child of `multiprocessing`, as soon as its parent has ended, however that was killed."""
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    parent = parent_process()
    if parent is not None:

        def follow() -> None:
            wait([parent.sentinel])
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()
