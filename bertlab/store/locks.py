"""Claims on runs: a lock that the kernel frees when its holder dies, with a record of who holds it and how far it is.

The file of a lock may stay for ever: only the lock counts. It holds on the network file systems that know `flock`.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertlab.store.forms import CLAIM, fits

SECONDS_BETWEEN_RECORDS = 0.4
SECONDS_OF_SILENCE = 5.0
"""After which a command that waits for another one says so."""


@dataclass
class Claim:
    """A claim that is held: told of the progress of its run, it keeps it where others can read it.

    Copies of it, in other processes that work on the same run, may be told instead.
    """

    path: Path
    holder: dict[str, Any] = field(
        default_factory=lambda: {"pid": os.getpid(), "host": socket.gethostname(), "since": int(time.time())}
    )
    stage: str | None = None
    told: float = 0.0

    def __call__(self, done: int, total: int, stage: str = "", /, **figures: float) -> None:
        """`done` of `total` units of `stage` are finished; `figures` are shown beside."""
        now = time.monotonic()
        if stage == self.stage and now - self.told < SECONDS_BETWEEN_RECORDS:
            return
        self.stage, self.told = stage, now
        # Written in place: a file that is renamed here would not be the one that is locked.
        with suppress(OSError):  # a full disk ends the run, not what is told of it
            self.path.write_text(json.dumps({**self.holder, "done": done, "total": total, "stage": stage, **figures}))


@contextmanager
def claimed(path: Path, **facts: Any) -> Iterator[Claim | None]:
    """Holds the lock of the file `path`, with `facts` in its record; gives `None` if another process holds it."""
    with path.open("a", encoding="utf-8") as file:
        if not _lock(file.fileno()):
            yield None
            return
        claim = Claim(path)
        claim.holder |= facts
        claim(0, 0)
        try:
            yield claim
        finally:
            file.truncate(0)


def is_claimed(path: Path) -> bool:
    """Whether a process holds the lock of `path` now."""
    if not path.exists():
        return False
    with path.open("r", encoding="utf-8") as file:
        return not _lock(file.fileno(), fcntl.LOCK_SH)  # which a file that is only read can have everywhere


def record(path: Path) -> dict[str, Any]:
    """What the holder of a claim last told: `pid`, `host`, `done`, `total`, `stage`, figures. Empty if nothing is."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):  # read while it is written
        return {}
    return found if fits(found, CLAIM) else {}


def holder(path: Path) -> str:
    """The process that holds the lock of `path`, as a message names it."""
    found = record(path)
    if "pid" not in found:  # it has the lock and has not written yet
        return "another process"
    since = time.strftime(" since %H:%M:%S", time.localtime(found["since"])) if "since" in found else ""
    return f"process {found['pid']} on {found.get('host', 'another machine')}{since}"


def _lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
