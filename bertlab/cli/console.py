"""The one place that all output goes through, and the one that turns errors into a line and an exit status."""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

if TYPE_CHECKING:
    from rich.console import Console

P = ParamSpec("P")


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

    print(visible(text), file=sys.stderr)


def exit_codes(command: Callable[P, int | None]) -> Callable[P, None]:
    """Turns what a command raises into one line and its exit status: bad input 2, signals 130 and 143, failures 1."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        from bertlab.errors import BadInput
        from bertlab.progress import Interrupted

        try:
            code = command(*args, **kwargs) or 0
        except BadInput as error:
            complain(f"bertlab: {error}")
            code = 2
        except Interrupted as error:
            complain(f"bertlab: {error}; what was done is kept: give the same command again to go on")
            code = 130 if error.number == signal.SIGINT else 143
        except KeyboardInterrupt:
            code = 130
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 1
        raise SystemExit(code)

    return wrapped


def print_json(data: Any) -> None:
    """Machine-readable output, in ASCII: any name passes any terminal and any encoding."""
    import json

    print(json.dumps(data, indent=2))
