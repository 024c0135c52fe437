"""The one place that all output goes through, and the one that turns errors into a line and an exit status."""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ParamSpec

if TYPE_CHECKING:
    from rich.console import Console

P = ParamSpec("P")

FAULT = 70
"""The exit status of what is a fault of bertlab and not of its input (EX_SOFTWARE of sysexits.h)."""

debugging = False
"""Whether `--debug` asks for the traceback of a fault."""


@functools.cache
def console() -> Console:
    """Standard output."""
    from bertlab.cli.terminal import Terminal

    # Where nobody looks at a window, tables are as wide as they need to be.
    return Terminal() if sys.stdout.isatty() else Terminal(width=160, soft_wrap=True)


def say(text: str) -> None:
    """A line on standard output."""
    console().print(text)


def complain(text: str) -> None:
    """A line on standard error."""
    from bertlab.names import visible

    with suppress(OSError, ValueError):  # nobody listens
        print(visible(text), file=sys.stderr, flush=True)


def exit_codes(command: Callable[P, int | None]) -> Callable[P, None]:
    """Turns what a command raises into one line and its exit status: bad input 2, signals 130 and 143, failures 1."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        from bertlab.cli import environment

        code, line = 0, ""
        try:
            environment.check()
            code = command(*args, **kwargs) or 0
        except Exception as error:
            code, line = status(error)
        except BaseException as error:
            from bertlab.progress import Interrupted

            if isinstance(error, Interrupted):
                line = f"{error}; what was done is kept: give the same command again to go on"
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

    return wrapped


def status(error: Exception) -> tuple[int, str]:
    """The exit status of an error that ends a command, and its line."""
    from bertlab.errors import BadInput, unusable
    from bertlab.names import plain

    usage = getattr(error, "format_message", None)  # typer's usage errors, whose classes are private
    if usage is not None:
        said = str(BadInput(usage()))
        return 2, f"{said} (`bertlab --help` and `bertlab COMMAND --help` show what there is)"
    if isinstance(error, BadInput):
        return 2, plain(str(error))
    if isinstance(error, BrokenPipeError):
        return 1, ""
    if isinstance(error, MemoryError):
        return 1, "there is not enough memory: free some, or take a smaller model or batch"
    if isinstance(error, OSError) and error.errno is not None:
        return 2, str(unusable(error))
    return FAULT, f"this is a fault of bertlab: {type(error).__name__}: {_short(error)}; {_kept(error)}"


def _short(error: Exception) -> str:
    from bertlab.names import plain

    try:
        return plain(str(error))[:300]
    except Exception:  # the text of an error that a user's code raises
        return "no text"


def _kept(error: Exception) -> str:
    """Writes the traceback of a fault to a file, or with `--debug` to standard error; says where it is."""
    import platform
    import tempfile
    import traceback

    from bertlab import __version__

    text = "".join(traceback.format_exception(error))
    if debugging:
        complain(text)
        return "its traceback stands above"
    head = f"bertlab {__version__}, Python {platform.python_version()}: {sys.argv[1:]}\n"
    try:
        descriptor, name = tempfile.mkstemp(prefix="bertlab-fault-", suffix=".txt")
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(head + text)
    except OSError:
        return "`bertlab --debug COMMAND` shows its traceback"
    return f"its traceback is in {name}, please report it"


def _flushed() -> bool:
    """Whether all output has gone out; what cannot, as to a closed pipe or a full disk, is given up."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def print_json(data: Any) -> None:
    """Machine-readable output, in ASCII: any name passes any terminal and any encoding."""
    import json

    print(json.dumps(data, indent=2, allow_nan=False))
