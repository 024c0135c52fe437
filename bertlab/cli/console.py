"""Output on a terminal or into a file."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, TextIO

from bertlab.names import visible

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 1000
"""Columns of a file: enough for any table."""


def console() -> Console:
    """Standard output, without markup. Outside of a terminal, tables are as wide as their content.

    Raises `OutputFailed` if a study file has closed it.
    """
    if sys.stdout.closed:
        raise OutputFailed("standard output is closed")
    return _console()


@functools.cache
def _console() -> Console:
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDEST
    return Console(markup=False, emoji=False, highlight=False, width=width, soft_wrap=width is not None)


def debugging() -> bool:
    """Whether the command prints tracebacks: `bertlab --debug COMMAND`."""
    return "--debug" in sys.argv


class OutputFailed(Exception):
    """Standard output takes no more: a closed pipe, or a full disk."""


@contextmanager
def writing(stream: TextIO | None = None) -> Iterator[None]:
    """Raises `OutputFailed` if standard output takes no more within it, or if code of a user's has closed it."""
    try:
        yield
    except (OSError, ValueError) as error:
        if isinstance(error, ValueError) and not (stream or sys.stdout).closed:
            raise
        raise OutputFailed(str(error)) from None


def say(text: str) -> None:
    """Prints a line on standard output."""
    with writing():
        console().print(visible(text))


_json_output: list[TextIO] = []
"""Standard output within `json_alone`."""


@contextmanager
def json_alone(wanted: bool) -> Iterator[None]:
    """With `wanted`, only `print_json` writes to standard output; everything else goes to standard error."""
    if not wanted:
        yield
        return
    _json_output.append(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _json_output.pop()


def print_json(data: Any) -> None:
    """Prints JSON in ASCII, which any terminal and encoding can show; decimals are numbers."""
    text = json.dumps(data, indent=2, allow_nan=False, default=float)
    stream = _json_output[-1] if _json_output else sys.stdout
    with writing(stream):
        print(text, file=stream)


def complain(text: str) -> None:
    """Prints a line on standard error."""
    with suppress(OSError, ValueError):  # standard error is closed
        print(visible(text), file=sys.stderr, flush=True)
