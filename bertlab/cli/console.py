"""Output on a terminal or into a file."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bertlab.names import plain, visible

if TYPE_CHECKING:
    from rich.console import Console


@functools.cache
def console() -> Console:
    """Standard output, without markup. Outside of a terminal, tables are as wide as their content."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 160
    return Console(markup=False, emoji=False, highlight=False, width=width, soft_wrap=width is not None)


def say(text: str) -> None:
    """Prints a line on standard output."""
    console().print(visible(text))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", *, left: int = 1) -> None:
    """Prints a table whose first `left` columns are flushed left and the others right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, title_justify="left", pad_edge=False, collapse_padding=True)
    table.title = Text(plain(title)) if title else None
    for index, name in enumerate(columns):
        table.add_column(Text(plain(name)), justify="left" if index < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    console().print(table)


def print_json(data: Any) -> None:
    """Prints JSON in ASCII, which any terminal and encoding can show."""
    print(json.dumps(data, indent=2, allow_nan=False))


def complain(text: str) -> None:
    """Prints a line on standard error."""
    with suppress(OSError, ValueError):  # standard error is closed
        print(visible(text), file=sys.stderr, flush=True)
