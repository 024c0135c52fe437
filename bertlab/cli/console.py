"""Output, commands, and how errors become one line and an exit status."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bertlab import __version__

if TYPE_CHECKING:
    from rich.console import Console

FAULT = 70
"""The exit status of a fault of bertlab itself (EX_SOFTWARE of sysexits.h)."""

debugging = False
"""Whether `--debug` prints the traceback of a fault."""


@functools.cache
def console() -> Console:
    """Standard output, without markup. Outside of a terminal, tables are as wide as their content."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 160
    return Console(markup=False, emoji=False, highlight=False, width=width, soft_wrap=width is not None)


def say(text: str) -> None:
    """Prints a line on standard output."""
    from bertlab.names import visible

    console().print(visible(text))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", *, left: int = 1) -> None:
    """Prints a table whose first `left` columns are flushed left and the others right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from bertlab.names import plain

    table = Table(box=SIMPLE_HEAD, title_justify="left", pad_edge=False, collapse_padding=True)
    table.title = Text(plain(title)) if title else None
    for index, name in enumerate(columns):
        table.add_column(Text(plain(name)), justify="left" if index < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    console().print(table)


def print_json(data: Any) -> None:
    """Prints JSON in ASCII, which any terminal and encoding can show."""
    import json

    print(json.dumps(data, indent=2, allow_nan=False))


def complain(text: str) -> None:
    """Prints a line on standard error."""
    from bertlab.names import visible

    with suppress(OSError, ValueError):  # standard error is closed
        print(visible(text), file=sys.stderr, flush=True)


def command(function: Callable[..., int | None]) -> Callable[..., None]:
    """Turns a function into a command.

    A parameter that is a dataclass becomes the options of its fields. An exception becomes one line and an exit status:
    2 for bad input, 130 and 143 for signals, 1 for failed runs.
    """
    groups: dict[str, Any] = {}
    options: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        if dataclasses.is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            options += inspect.signature(groups[name], eval_str=True).parameters.values()
        else:
            options.append(parameter.replace(kind=parameter.KEYWORD_ONLY))

    @functools.wraps(function)
    def wrapped(**given: Any) -> None:
        from bertlab.execution import environment

        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
        code, line = 0, ""
        try:
            environment.check()
            code = function(**given) or 0
        except Exception as error:
            code, line = status(error)
        except BaseException as error:
            from bertlab.progress import Interrupted

            if isinstance(error, Interrupted):
                line = f"{error}; finished work is kept: give the same command again to resume"
                code = 130 if error.number == signal.SIGINT else 143
            elif isinstance(error, KeyboardInterrupt):
                code = 130
            else:
                raise
        if not _flushed():
            code, line = code if code in (130, 143) else 1, ""
        if line:
            complain(f"bertlab: {line}")
        raise SystemExit(code)

    wrapped.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {}
    return wrapped


def status(error: Exception) -> tuple[int, str]:
    """The exit status of an error that ends a command, and its line."""
    from bertlab.errors import BadInput, unusable
    from bertlab.names import plain

    usage = getattr(error, "format_message", None)  # typer's usage errors, whose classes are private
    if usage is not None:
        return 2, f"{BadInput(usage())} (see `bertlab --help` and `bertlab COMMAND --help`)"
    if isinstance(error, BadInput):
        return 2, plain(str(error))
    if isinstance(error, BrokenPipeError):
        return 1, ""
    if isinstance(error, MemoryError):
        return 1, "out of memory: free some, or use a smaller model, batch or --micro-batch"
    if isinstance(error, OSError) and error.errno is not None:
        return 2, str(unusable(error))
    try:
        text = plain(str(error))[:300]
    except Exception:  # str() of an error in a user's code may raise
        text = "no text"
    return FAULT, f"internal error: {type(error).__name__}: {text}; {_traceback(error)}"


def _traceback(error: Exception) -> str:
    """Writes the traceback of a fault to a file, or with `--debug` to standard error, and returns where it is."""
    import platform
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(error))
    if debugging:
        complain(text)
        return "the traceback is above"
    head = f"bertlab {__version__}, Python {platform.python_version()}: {sys.argv[1:]}\n"
    try:
        descriptor, name = tempfile.mkstemp(prefix="bertlab-fault-", suffix=".txt")
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(head + text)
    except OSError:
        return "`bertlab --debug COMMAND` shows its traceback"
    return f"please report it with the traceback in {name}"


def _flushed() -> bool:
    """Whether all output was written; discards what a closed pipe or a full disk does not accept."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True
