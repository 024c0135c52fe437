"""The one exception that a user's mistake raises: a single line that says what, where and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from bertlab.names import plain


class BadInput(ValueError):
    """Input that cannot be used. The command line prints its message as one line and exits with 2."""

    def __init__(self, message: str) -> None:
        super().__init__(plain(message))


class RunFailed(RuntimeError):
    """A run that ended without a result, for a reason that is not the user's input (diverged, for one)."""

    def __init__(self, message: str, *, status: str = "failed") -> None:
        super().__init__(message)
        self.status = status


def unknown(what: str, name: str, known: Iterable[str]) -> BadInput:
    """The error for a name that is not among `known`: names the nearest one, or lists them all."""
    names = list(known)
    near = difflib.get_close_matches(name.lower(), [known.lower() for known in names], n=1, cutoff=0.5)
    if near:
        nearest = next(known for known in names if known.lower() == near[0])
        return BadInput(f"unknown {what} '{name}': did you mean '{nearest}'?")
    return BadInput(f"unknown {what} '{name}': choose from {', '.join(sorted(names)) or 'nothing (none is defined)'}")
