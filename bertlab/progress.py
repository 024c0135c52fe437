"""How long work says where it is, and how it is asked to stop."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
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


_received: list[int] = []


def asked_to_stop() -> bool:
    """Whether a signal has asked this process to end."""
    return bool(_received)


def stop_if_asked() -> None:
    """Raises `Interrupted` if a signal has asked this process to end. Long loops call it at each turn."""
    if _received:
        raise Interrupted(_received[0])


@contextmanager
def signals_as_flags() -> Iterator[None]:
    """Within it, SIGINT and SIGTERM only set a flag that loops look at; a second signal ends the process at once."""

    def note(number: int, frame: FrameType | None) -> None:
        if _received:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        _received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _received.clear()
