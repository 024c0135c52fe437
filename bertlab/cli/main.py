"""`bertlab`: the commands, each in a file of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from bertlab.cli import console
from bertlab.cli.ablate import ablate
from bertlab.cli.audit import audit
from bertlab.cli.bench import bench
from bertlab.cli.export import export
from bertlab.cli.fetch import fetch
from bertlab.cli.fill_mask import fill_mask
from bertlab.cli.finetune import finetune
from bertlab.cli.merge import merge
from bertlab.cli.plan import plan
from bertlab.cli.pretrain import pretrain
from bertlab.cli.report import report
from bertlab.cli.runs import runs
from bertlab.cli.studies import studies

app = typer.Typer(
    name="bertlab",
    help="Reproduces the ablations behind BERT: pre-trains the variants, measures them, sets them beside the paper.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
commands = (ablate, report, plan, audit, studies, runs, pretrain, finetune, fill_mask, export, merge, fetch, bench)
for command in commands:
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        from bertlab import __version__

        typer.echo(f"bertlab {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a fault of bertlab itself.")] = False,
) -> None:
    """Reproduces the ablations behind BERT: pre-trains the variants, measures them, sets them beside the paper."""
    console.debugging = debug


def main() -> None:
    """Carries out the command line: whatever happens, errors are one line and an exit status."""
    from bertlab.cli.environment import open_descriptors

    open_descriptors()
    try:
        code = app(standalone_mode=False)
    except Exception as error:
        code, line = console.status(error)
        if line:
            console.complain(f"bertlab: {line}")
    raise SystemExit(code or 0)
