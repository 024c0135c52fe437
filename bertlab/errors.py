"""Errors that the command line prints as one line: what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
import errno
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bertlab.names import plain

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""A full disk, or a limit on a user or a process."""
FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)
"""A directory that is not writable."""
DISTRIBUTION = "bertlab-ablations"
"""The name of the package for pip."""
LONGEST = 900
"""The longest message in characters; longer ones lose their middle."""


class BadInput(ValueError):
    """Input that cannot be used. The command line prints its message as one line and exits with 2."""

    def __init__(self, message: str) -> None:
        text = plain(message)
        super().__init__(text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 3 :]}")


class Unusable(BadInput):
    """A file or directory that the system does not allow to read or write; its content may be intact."""


class Unwritable(BadInput):
    """A directory that cannot be written. Finished work is kept, so that the same command can resume."""

    def __init__(self, directory: Path, error: OSError, what: str = "") -> None:
        self.about = directory, error, what
        why, advice = error.strerror or str(error), "allow it"
        if error.errno in FULL:
            existing = next(path for path in (directory.absolute(), *directory.absolute().parents) if path.exists())
            why, advice = f"{why}; {shutil.disk_usage(existing).free / 1e6:,.0f} MB are free", "make room"
        other = "" if what else ", or name another directory with --runs or --out"
        again = f"{advice} and give the same command again{other}"
        if error.errno in (errno.EEXIST, errno.ENOTDIR):
            why, again = "a file is in its place", f"name another directory{'' if what else ' with --runs or --out'}"
        super().__init__(f"{what} '{directory}' cannot be written ({why}): {again}")

    def __reduce__(self) -> tuple[type[Unwritable], tuple[Path, OSError, str]]:
        return Unwritable, self.about  # errors are pickled between processes


_warned: set[str] = set()


def warn(text: str) -> None:
    """Prints a warning on standard error, once for each text."""
    if text not in _warned:
        _warned.add(text)
        with suppress(OSError, ValueError):
            sys.stderr.write(f"bertlab: {plain(text)}\n")


def unusable(error: OSError, what: str = "", path: Path | str = "") -> Unusable:
    """The error for a path that the system refuses; `what` names the option or the purpose of the path."""
    named = str(path or error.filename or "")
    subject = " ".join(filter(None, (what, f"'{named}'" if named else ""))) or "a file"
    advice = "check the path and its permissions"
    if error.errno in FULL:
        advice = "make room and give the same command again"
    elif error.errno in (errno.EMFILE, errno.ENFILE):
        advice = "allow more open files, as with `ulimit -n`"
    return Unusable(f"{subject} cannot be used ({error.strerror or error}): {advice}")


@contextmanager
def writing(directory: Path, what: str = "") -> Iterator[None]:
    """A full disk or a read-only directory is an `Unwritable` that names `directory`; `what` says what it is for."""
    try:
        yield
    except (OSError, Unwritable) as error:
        cause = error.about[1] if isinstance(error, Unwritable) else error
        if cause.errno in (*FULL, *FORBIDDEN):
            raise Unwritable(directory, cause, what) from error
        raise


@contextmanager
def at(*where: str) -> Iterator[None]:
    """A `BadInput` within it says first where it was, unless it does already: `study 'nsp', variant 'BERT': ...`."""
    try:
        yield
    except BadInput as error:
        if str(error).startswith(where[0]):
            raise
        raise BadInput(f"{', '.join(where)}: {error}") from None


class RunFailed(RuntimeError):
    """A run that ended without a result for another reason than the user's input, such as divergence."""

    def __init__(self, message: str, *, status: str = "failed") -> None:
        super().__init__(message)
        self.status = status


class ArmFailed(RunFailed):
    """A run that ended because a part of it, perhaps of a study file, does not do what its base class says.

    Another attempt would end in the same way.
    """

    @classmethod
    def of(cls, arm: object, method: str, problem: str) -> ArmFailed:
        """The error that names the class of an arm and one of its methods, with the file and line of the method."""
        import inspect

        kind = arm if isinstance(arm, type) else type(arm)
        called: Any = getattr(kind, method, None)
        code = getattr(inspect.unwrap(getattr(called, "fget", called)), "__code__", None)
        where = f" ({Path(code.co_filename).name}, line {code.co_firstlineno})" if code else ""
        return cls(f"{kind.__name__}.{method}{where} {problem}")


def text_of(error: BaseException) -> str:
    """The text of an error in one line; empty if `str()` of an error in a user's code raises too."""
    with suppress(Exception):
        return " ".join(str(error).split())
    return ""


def first_line(error: BaseException) -> str:
    """The first line of the text of an error of a library; its class if it has no text."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def install(extra: str) -> str:
    """The advice to install an optional part: from the source tree, or for an installed copy, what the part needs."""
    from importlib.metadata import PackageNotFoundError, requires

    if not Path(__file__).resolve().parents[1].joinpath("constraints.txt").exists():
        with suppress(PackageNotFoundError):
            lines = [line.partition(";") for line in requires(DISTRIBUTION) or ()]
            mark = re.compile(rf"extra == ['\"]{re.escape(extra)}['\"]")
            if packages := [name.strip() for name, _, marker in lines if mark.search(marker)]:
                return f"run `pip install {shlex.join(packages)}`"
    return f"run `pip install -c constraints.txt '.[{extra}]'` in the source tree"


def unknown(what: str, name: str, candidates: Iterable[str]) -> BadInput:
    """The error for an unknown name, with the nearest known one, or with all of them."""
    name = name if len(name) <= 80 else f"{name[:60]}..."
    return BadInput(f"unknown {what} '{name}': {suggestion(name, candidates)}")


def suggestion(name: str, candidates: Iterable[str]) -> str:
    """The advice for an unknown name: the nearest known one, or all of them."""
    names = list(candidates)
    near = difflib.get_close_matches(name[:80].lower(), [candidate.lower() for candidate in names], n=1, cutoff=0.5)
    if near:
        nearest = next(candidate for candidate in names if candidate.lower() == near[0])
        return f"did you mean '{nearest}'?"
    return f"choose from {', '.join(sorted(names)) or 'nothing (none is defined)'}"
