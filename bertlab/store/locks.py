"""Locks on runs that the kernel frees when their holder dies, with a record of the holder and its progress.

The lock is not its file, which may remain. It works on network file systems that support `flock`.
"""

import fcntl
import json
import os
import secrets
import socket
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from bertlab.errors import BadInput, RunFailed, warn, writing
from bertlab.progress import Progress, stop_if_asked
from bertlab.store.files import content
from bertlab.store.schema import Count, Id, load, to_json
from bertlab.store.writes import below, folder

SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_BETWEEN_RECORDS = 0.4
WIDTH = 1024
"""The characters of a record, padded with spaces; long names make it longer."""
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


class StoreLocks:
    """The locks of a store: on runs that are worked on, on runs that commands need, and on the store itself."""

    def __init__(self, root: Path) -> None:
        self.root, self.scratch = root, root / ".locks"
        """`scratch` is the directory of locks and of temporary files of commands."""
        self._asks = ""

    @contextmanager
    def run(self, run_id: str) -> Iterator[Lock | None]:
        """Holds the lock on a run; yields `None` if another process works on it."""
        with locked(self._file(run_id)) as lock:
            if lock is not None and is_locked(self.scratch / f"{run_id}.group"):  # it outlived its command
                lock = None
            yield lock

    @contextmanager
    def group(self, run_id: str) -> Iterator[None]:
        """Holds a second lock on a run, for the process of a group that writes. Raises `RunFailed` if it is held."""
        with locked(self.scratch / f"{run_id}.group") as lock:
            if lock is None:
                raise RunFailed(f"another process writes run {run_id}")
            yield

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keeps other commands from saving records, removing runs or reserving them; waits for such commands to end."""
        path, began = self._file("store"), time.monotonic()
        while True:
            with locked(path) as lock:
                if lock is not None:
                    yield
                    return
            stop_if_asked()
            if time.monotonic() - began > SECONDS_OF_SILENCE:
                warn(f"waiting for {holder(path)}, which changes store '{self.root}'")
            time.sleep(SECONDS_BETWEEN_LOOKS)

    @contextmanager
    def reserved(self, run_ids: Iterable[str]) -> Iterator[None]:
        """Keeps other commands from removing these runs, finished or not yet begun."""
        with ExitStack() as stack:
            with self.exclusive():
                path = self._file(self.new_name("asks"))
                self._asks = path.name
                stack.callback(path.unlink, missing_ok=True)
                stack.enter_context(locked(path, ids=sorted(run_ids)))
            yield

    def reserved_ids(self, *, by_others: bool = False) -> set[str]:
        """Ids of the runs that running commands need, or those that commands other than this one need."""
        asks = (path for path in self.scratch.glob("asks.*") if not (by_others and path.name == self._asks))
        holders = filter(None, map(record, filter(is_locked, asks)))
        return {run_id for command in holders for run_id in command.ids}

    def has(self, run_id: str) -> bool:
        """Whether a process works on a run now."""
        return is_locked(self.scratch / run_id)

    def holder(self, run_id: str) -> str:
        """The process that works on a run, for messages."""
        return holder(self.scratch / run_id)

    def progress(self, run_id: str) -> Holder | None:
        """The last progress that the process working on a run recorded; None if there is none."""
        return record(self.scratch / run_id)

    @staticmethod
    def new_name(prefix: str) -> str:
        """A new file name that contains this machine and process."""
        return f"{prefix}.{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}"

    def _file(self, name: str) -> Path:
        """The file of a lock, created if it is missing."""
        folder(self.root, ".locks")
        path = below(self.root, f".locks/{name}")
        with writing(path.parent):
            path.touch()
        return path


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
