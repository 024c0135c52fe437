"""The one exception that a user's mistake raises: a single line that says what, where and what to do."""

from __future__ import annotations

import difflib
import errno
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bertlab.names import plain

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a disk says, or a limit set on a user or a process, when there is no room."""
FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)
"""What a directory says that may not be written."""

LONGEST = 900
"""Characters of the longest message: what stands in the middle of a longer one is left out."""


class BadInput(ValueError):
    """Input that cannot be used. The command line prints its message as one line and exits with 2."""

    def __init__(self, message: str) -> None:
        text = plain(message)
        super().__init__(text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 3 :]}")


class Unwritable(BadInput):
    """A directory that takes no more. What was done is kept: given room, the same command goes on."""

    def __init__(self, directory: Path, error: OSError) -> None:
        self.directory, self.error = directory, error
        if error.errno in FULL:
            why, what = f"{error.strerror}; {_free(directory)} MB are free", "make room"
        else:
            why, what = error.strerror or str(error), "allow it"
        super().__init__(
            f"'{directory}' cannot be written ({why}): {what} and give the same command again, or name another "
            "directory with --runs or --out"
        )

    def __reduce__(self) -> tuple[type[Unwritable], tuple[Path, OSError]]:
        return Unwritable, (self.directory, self.error)  # another process may have to be told


class Unusable(BadInput):
    """A file that the system does not let one read or write: that says nothing of what is in it."""


_warned: set[str] = set()


def warn(text: str) -> None:
    """A line on standard error about what is passed over, once for each text."""
    if text not in _warned:
        _warned.add(text)
        with suppress(OSError, ValueError):
            sys.stderr.write(f"bertlab: {plain(text)}\n")


def unusable(error: OSError, what: str = "", path: Path | str = "") -> Unusable:
    """The error for a path that the system refuses: `what` names the option or thing that it was given for."""
    named = str(path or error.filename or "")
    place = " ".join(filter(None, (what, f"'{named}'" if named else ""))) or "a file"
    if error.errno in FULL:
        return Unusable(f"{place} cannot be written ({error.strerror}): make room and give the same command again")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return Unusable(f"{place} cannot be opened ({error.strerror}): allow more open files, as with `ulimit -n`")
    return Unusable(f"{place} cannot be used ({error.strerror or error}): check the path and its permissions")


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Within it, a full disk and a directory that may not be written are `Unwritable`, told of `directory`."""
    try:
        yield
    except OSError as error:
        if error.errno in (*FULL, *FORBIDDEN):
            raise Unwritable(directory, error) from error
        raise


@contextmanager
def filling(what: str, path: Path | str) -> Iterator[None]:
    """Within it, a full disk is told of by the `path` that was given as `what`, whichever file in it did not fit."""
    try:
        yield
    except (OSError, Unwritable) as error:
        cause = error.error if isinstance(error, Unwritable) else error
        if cause.errno in FULL:
            raise unusable(cause, what, path) from error
        raise


def _free(directory: Path) -> str:
    there = next(path for path in (directory.absolute(), *directory.absolute().parents) if path.exists())
    return f"{shutil.disk_usage(there).free / 1e6:,.0f}"


class RunFailed(RuntimeError):
    """A run that ended without a result, for a reason that is not the user's input (diverged, for one)."""

    def __init__(self, message: str, *, status: str = "failed") -> None:
        super().__init__(message)
        self.status = status


def unknown(what: str, name: str, known: Iterable[str]) -> BadInput:
    """The error for a name that is not among `known`: names the nearest one, or lists them all."""
    names, name = list(known), name if len(name) <= 80 else f"{name[:60]}..."
    near = difflib.get_close_matches(name.lower(), [known.lower() for known in names], n=1, cutoff=0.5)
    if near:
        nearest = next(known for known in names if known.lower() == near[0])
        return BadInput(f"unknown {what} '{name}': did you mean '{nearest}'?")
    return BadInput(f"unknown {what} '{name}': choose from {', '.join(sorted(names)) or 'nothing (none is defined)'}")
