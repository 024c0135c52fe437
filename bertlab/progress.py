"""How long work says where it is, and how it is asked to stop."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol


class Progress(Protocol):
    """Told of progress by long work; the command line draws it."""

    def __call__(self, done: int, total: int, stage: str = "", /, **figures: float) -> None:
        """`done` of `total` units of `stage` are finished; `figures` are shown beside (loss, tokens/s)."""


def silent(done: int, total: int, stage: str = "", /, **figures: float) -> None:
    """Progress that nobody watches."""


class Interrupted(BaseException):
    """A signal asked for the end. Work that can be resumed has been saved when this is raised by a loop."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number

    def __reduce__(self) -> tuple[type[Interrupted], tuple[int]]:
        return Interrupted, (self.number,)  # another process may have to be told


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
"""SIGUSR1 is how a cluster says that it is about to take the machine away."""

SECONDS_BETWEEN_LOOKS = 0.3
"""At the flag of the process that this one works for."""

_received: list[int] = []


@dataclass
class _Flag:
    path: Path | None = None
    looked: float = 0.0


_flag = _Flag()


def asked_to_stop() -> bool:
    """Whether a signal has asked this process, or the one that it works for, to end."""
    if not _received and _flag.path is not None:
        now = time.monotonic()
        if now - _flag.looked > SECONDS_BETWEEN_LOOKS:
            _flag.looked = now
            if _flag.path.exists():
                _received.append(signal.SIGTERM)
    return bool(_received)


def stop_if_asked() -> None:
    """Raises `Interrupted` if a signal has asked this process to end. Long loops call it at each turn."""
    if asked_to_stop():
        raise Interrupted(_received[0])


@contextmanager
def listening_to(flag: Path) -> Iterator[None]:
    """Within it, a file `flag` asks this process to end: signals reach only the one that it works for."""
    _received.clear()
    _flag.path = flag
    try:
        yield
    finally:
        _flag.path = None


@contextmanager
def signals_as_flags() -> Iterator[None]:
    """Within it, the signals only set a flag that loops look at; a second one ends the process at once."""

    def note(number: int, frame: FrameType | None) -> None:
        if _received:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        _received.append(number)

    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _received.clear()
