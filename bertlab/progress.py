"""Progress callbacks, and signals that stop long work."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
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
_came = [0.0]
SECONDS_OF_COPIES = 0.2
"""After a signal, in which others are its copies: `timeout` sends one to the command, and one to its process group."""

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

    Raises `Interrupted` at its end if a signal came after the last check. Outside of the main thread, which alone can
    set handlers, signals keep theirs.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if _note(number) and sys.stderr is not None and sys.stderr.isatty():
            # not through `rich`, whose lock the signal may interrupt
            os.write(2, b"\nstopping after this step; a second signal ends at once\n")

    with _handled_by(handle):
        yield


@contextmanager
def signals_as_errors() -> Iterator[None]:
    """A signal raises `Interrupted` where the main thread is; a second signal ends the process at once.

    Raises it at the end too, whatever code within has made of the first.
    """
    lost: list[int] = []
    ending = False

    def handle(number: int, frame: FrameType | None) -> None:
        if (_note(number) if not lost else lost.pop()) and not ending:
            raise Interrupted(number)

    def unraisable(args: sys.UnraisableHookArgs) -> None:
        if not isinstance(args.exc_value, Interrupted):
            before(args)
            return
        lost.append(args.exc_value.number)  # in a callback of the interpreter, as many run during imports
        again = threading.Timer(0.02, signal.pthread_kill, (threading.main_thread().ident, *lost))
        again.daemon = True
        again.start()

    before, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        with _handled_by(handle):
            try:
                yield
            finally:
                ending = True
    finally:
        sys.unraisablehook = before


def _note(number: int) -> bool:
    """Whether a signal is the first. Ends the process at the second."""
    if not _received:
        _received.append(number)
        _came[0] = time.monotonic()
        return True
    if time.monotonic() - _came[0] > SECONDS_OF_COPIES:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    return False


@contextmanager
def _handled_by(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """In the main thread, signals call `handle`. Raises `Interrupted` at its end if one came."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        for number in SIGNALS:
            signal.signal(number, handle)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        came = _received[:1]
        _received.clear()
        if came:
            raise Interrupted(*came)


@contextmanager
def starting_children() -> Iterator[None]:
    """Processes of `multiprocessing` that start within it hear no signal until they call `follow_parent`.

    Otherwise a Ctrl-C on the terminal, which goes to all processes, ends them with a traceback while Python starts.
    """
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # its start lets signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def follow_parent() -> None:
    """This process, a child of `multiprocessing`, ignores signals, and ends when its parent ends, even if killed.

    Terminals and clusters send signals to all processes; the parent decides what they mean.
    """
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    parent = parent_process()
    if parent is not None:

        def follow() -> None:
            wait([parent.sentinel])
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()
