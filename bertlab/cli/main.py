"""`bertlab`: registers the commands, and turns every error into one line and an exit status."""

import os
import platform
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, TextIO

import typer

from bertlab import __version__
from bertlab.cli import complete
from bertlab.cli.ablate import ablate
from bertlab.cli.audit import audit
from bertlab.cli.bench import bench
from bertlab.cli.console import OutputFailed, complain, debugging
from bertlab.cli.export import export
from bertlab.cli.fetch import fetch
from bertlab.cli.fill_mask import fill_mask
from bertlab.cli.finetune import finetune
from bertlab.cli.generate import generate
from bertlab.cli.help import Command, Group
from bertlab.cli.judge import judge
from bertlab.cli.ladder import ladder
from bertlab.cli.merge import merge
from bertlab.cli.options import command
from bertlab.cli.plan import plan
from bertlab.cli.predict import predict
from bertlab.cli.pretrain import pretrain
from bertlab.cli.report import report
from bertlab.cli.runs import runs
from bertlab.cli.scales import scales
from bertlab.cli.score import score
from bertlab.cli.show import show
from bertlab.cli.studies import studies
from bertlab.cli.submit import submit
from bertlab.cli.tasks import tasks
from bertlab.errors import ArmFailed, BadInput, text_of, unusable
from bertlab.execution import environment
from bertlab.names import plain
from bertlab.progress import Interrupted, signals_as_errors

INTERNAL_ERROR = 70
"""The exit status of an error of bertlab itself (EX_SOFTWARE of sysexits.h)."""

HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="bertlab",
    cls=Group,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing rich takes longer than the rest of --help
    context_settings=HELP,
)
PANELS: dict[str, tuple[Callable[..., Any], ...]] = {
    "Run": (ablate, plan, audit, bench, pretrain, finetune, score, submit),
    "See": (report, judge, ladder, runs, studies, show, tasks, scales, fill_mask, generate, predict),
    "Share": (export, merge, fetch),
}
"""The commands under their headings."""
for panel, commands in PANELS.items():
    for command_function in commands:
        app.command(cls=Command, context_settings=HELP, rich_help_panel=panel)(command(command_function))


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version, and the commit if it is known.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the tracebacks of internal errors and failed runs.")
    ] = False,
) -> None:
    """Reproduce the ablations behind BERT: pre-train variants, measure them, and compare with the published tables.

    Start in a clone with `bertlab report --runs reports/default`, a finished study; then see the machinery with
    `bertlab ablate masking --scale smoke --runs smoke-runs` (about a minute).
    """
    if version:
        from bertlab.machine import commit

        typer.echo(f"bertlab {__version__}" + (f" ({commit()})" if commit() else ""))
        raise typer.Exit()
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Exits with 2 for bad input, 1 for failed runs, 130 and 143 for signals, and `INTERNAL_ERROR`."""
    code, line = 0, ""
    try:
        with signals_as_errors():
            environment.set_up()
            code = app(prog_name="bertlab", standalone_mode=False) or 0
    except Interrupted as error:
        line = f"{error}; {_again()}"
        code = 130 if error.number == signal.SIGINT else 143
    except Exception as error:
        code, line = (1, "") if complete.asked() else _status(error)
    except BaseException as error:  # such as a `SystemExit` in a study file
        if isinstance(error, KeyboardInterrupt) or complete.asked():  # typer ends completion by a `SystemExit`
            raise
        from bertlab.lab.study_file import place_of

        if not place_of(error):
            raise
        code, line = _status(error)
    if _takes_no_more(sys.stdout):
        line = "standard output is closed" if getattr(sys.stdout, "closed", False) else ""
        code = code if code in (130, 143) else 1
    if line:
        complain(f"bertlab: {line}")
    _takes_no_more(sys.stderr)
    raise SystemExit(code)


def _again() -> str:
    """What the same command does after a signal: those that only show something begin again."""
    name = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    if name in [shows.__name__.replace("_", "-") for shows in PANELS["See"]]:
        return "the same command begins again"
    return "finished work is kept: give the same command again to resume"


def _takes_no_more(stream: TextIO) -> bool:
    """Whether a stream is closed, perhaps by a study file, or its disk is full; what it has left then goes nowhere."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return True
    return False


def _in_echo(error: OSError) -> bool:
    """Whether typer's own printing, of help and versions, raised an error."""
    return [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)][-1:] == ["echo"]


def _status(error: BaseException) -> tuple[int, str]:
    """The exit status of an error, and its line."""
    usage = getattr(error, "format_message", None)  # typer's usage errors, whose classes are private
    if usage is not None:
        context = getattr(error, "ctx", None)
        return 2, f"{BadInput(usage())} (see `{context.command_path if context else 'bertlab'} --help`)"
    if isinstance(error, BadInput):
        return 2, plain(str(error))
    if isinstance(error, OutputFailed) or (isinstance(error, OSError) and _in_echo(error)):
        return 1, ""
    if isinstance(error, MemoryError):
        return 1, "out of memory: free some, or use a smaller model, batch or --micro-batch"
    if isinstance(error, OSError) and error.errno is not None:
        return 2, str(unusable(error))
    text = plain(text_of(error))[:300] or "no text"
    from bertlab.lab.study_file import place_of

    if isinstance(error, ArmFailed):
        return 2, f"{text}; correct it"
    if mistaken := place_of(error):
        return 2, f"{type(error).__name__}: {text} ({mistaken}); correct it"
    shown, where = "".join(traceback.format_exception(error)), "the traceback is above"
    if debugging():
        complain(shown)
    else:
        where = "`bertlab --debug COMMAND` shows its traceback"
        head = f"bertlab {__version__}, Python {platform.python_version()}: {sys.argv[1:]}\n"
        with suppress(OSError):
            descriptor, name = tempfile.mkstemp(prefix="bertlab-fault-", suffix=".txt")
            with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(head + shown)
            where = f"please report it with the traceback in {name}"
    return INTERNAL_ERROR, f"internal error: {type(error).__name__}: {text}; {where}"
