"""Locks on runs that the kernel frees when their holder dies, with a record of the holder and its progress.

The lock is not its file, which may remain. It works on network file systems that support `flock`.
"""

import fcntl
import json
import os
import socket
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from bertlab.errors import BadInput
from bertlab.progress import Progress
from bertlab.store.files import content
from bertlab.store.forms import Count, Id, load, to_json

SECONDS_BETWEEN_RECORDS = 0.4
WIDTH = 1024
"""Of a record in characters, padded with spaces; long names make it longer."""
SECONDS_OF_SILENCE = 5.0
"""A command that waits for another one reports it after this time."""


@dataclass(frozen=True)
class Holder:
    """The record of a lock: its process, with the last progress of the run."""

    pid: Count
    host: str
    since: Count
    """The time at which it took the lock."""
    done: Count = 0
    total: Count = 0
    stage: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)
    ids: tuple[Id, ...] = ()
    """The runs that a command needs."""


@dataclass
class Lock:
    """A lock that is held. Calling it, or its copy in a process of the same run, records the run's progress."""

    path: Path
    holder: Holder
    stage: str | None = None
    recorded: float = 0.0
    observer: Progress | None = None  # receives the progress too

    def __call__(self, done: int, total: int, stage: str = "", /, **figures: float) -> None:
        """Records that `done` of `total` units of `stage` are finished, with `figures`."""
        if self.observer is not None:
            self.observer(done, total, stage, **figures)
        now = time.monotonic()
        if stage == self.stage and now - self.recorded < SECONDS_BETWEEN_RECORDS:
            return
        self.stage, self.recorded = stage, now
        record = json.dumps(to_json(replace(self.holder, done=done, total=total, stage=stage, figures=figures)))
        # In place, as renaming another file to this path would replace the locked one; and in one write, at least as
        # wide as most, so that no reader finds the file empty.
        with suppress(OSError), self.path.open("r+b", buffering=0) as file:  # a full disk must not end the run here
            file.write(record.ljust(WIDTH).encode())
            file.truncate()  # the record before may have been longer


@contextmanager
def locked(path: Path, ids: Iterable[str] = ()) -> Iterator[Lock | None]:
    """Holds the lock of the file `path`, for the runs `ids`; yields `None` if another process holds it."""
    with _opened(path, os.O_RDWR | os.O_CREAT) as file:
        if not _take(file.fileno()):
            yield None
            return
        lock = Lock(path, Holder(os.getpid(), socket.gethostname(), int(time.time()), ids=tuple(ids)))
        lock(0, 0)
        try:
            yield lock
        finally:
            file.truncate(0)


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of `path` now."""
    try:
        with _opened(path, os.O_RDONLY) as file:
            return not _take(file.fileno(), fcntl.LOCK_SH)  # a shared lock needs no write access on any file system
    except FileNotFoundError:  # the lock of an ended process may be removed at any time
        return False


def record(path: Path) -> Holder | None:
    """The last record of a lock; None if there is none, or while it is written."""
    with suppress(OSError, ValueError, RecursionError):
        return load(Holder, json.loads(content(path, "lock")))
    return None


def holder(path: Path) -> str:
    """The process that holds the lock of `path`, for messages."""
    if (lock := record(path)) is None:
        return "another process"
    return f"process {lock.pid} on {lock.host} since {time.strftime('%H:%M:%S', time.localtime(lock.since))}"


def _opened(path: Path, flags: int) -> IO[bytes]:
    """Opens the file of a lock; never blocks, as opening a pipe would."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadInput(f"lock '{path}' is not a regular file: remove it")
    return open(descriptor, "rb" if flags == os.O_RDONLY else "r+b", buffering=0)


def _take(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        return True
    return False
