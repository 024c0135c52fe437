"""`bertlab`: registers the commands, each in a file of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from bertlab import __version__
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
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,  # importing rich takes longer than the rest of --help
    context_settings={"help_option_names": ["-h", "--help"]},
)
commands = (ablate, report, plan, audit, studies, runs, pretrain, finetune, fill_mask, export, merge, fetch, bench)
for command in commands:
    app.command(context_settings={"help_option_names": ["-h", "--help"]})(command)


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an internal error.")] = False,
) -> None:
    """Reproduce the ablations behind BERT: pre-train variants, measure them, and compare with the published tables.

    Start with `bertlab ablate masking --scale smoke` (about a minute) and `bertlab report`.
    """
    console.debugging = debug
    if version:
        typer.echo(f"bertlab {__version__}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Runs the command line: every error becomes one line and an exit status."""
    from bertlab.execution.environment import open_descriptors

    open_descriptors()
    try:
        code = app(standalone_mode=False)
    except Exception as error:
        code, line = console.status(error)
        if line:
            console.complain(f"bertlab: {line}")
    raise SystemExit(code or 0)
