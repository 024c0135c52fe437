"""Output on a terminal or into a file."""

from __future__ import annotations

import functools
import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, TextIO

from bertlab.names import plain, visible

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 1000
"""Columns of a file: enough for any table."""
LONGEST_WORD = 12
"""Letters of a word that a narrow terminal does not break."""


@functools.cache
def console() -> Console:
    """Standard output, without markup. Outside of a terminal, tables are as wide as their content."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDEST
    return Console(markup=False, emoji=False, highlight=False, width=width, soft_wrap=width is not None)


def debugging() -> bool:
    """Whether the command prints tracebacks: `bertlab --debug COMMAND`."""
    return "--debug" in sys.argv


class OutputFailed(Exception):
    """Standard output takes no more: a closed pipe, or a full disk."""


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputFailed(str(error)) from None


def say(text: str) -> None:
    """Prints a line on standard output."""
    with _writing():
        console().print(visible(text))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", *, left: int = 1) -> None:
    """Prints a table whose first `left` columns are flushed left and the others right.

    Where it is too wide, cells are wrapped, in those columns between words alone.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, title_justify="left", pad_edge=False, show_edge=False, collapse_padding=True)
    table.title = Text(plain(title)) if title else None
    lines = [[Text(plain(cell)) for cell in row] for row in rows]
    for index, name in enumerate(columns):
        if index >= left:
            table.add_column(Text(plain(name)), justify="right", overflow="fold")
            continue
        words = itertools.chain(*(str(text).split() for text in (name, *(line[index] for line in lines))))
        longest = max(map(len, words), default=0)
        table.add_column(Text(plain(name)), overflow="fold", min_width=min(longest, LONGEST_WORD))
    for line in lines:
        table.add_row(*line)
    with _writing():
        console().print(table)


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
    with _writing():
        print(text, file=_json_output[-1] if _json_output else None)


def complain(text: str) -> None:
    """Prints a line on standard error."""
    with suppress(OSError, ValueError):  # standard error is closed
        print(visible(text), file=sys.stderr, flush=True)
