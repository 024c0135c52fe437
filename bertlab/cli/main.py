"""`bertlab`: the commands, each in a file of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from bertlab.cli.ablate import ablate
from bertlab.cli.audit import audit
from bertlab.cli.bench import bench
from bertlab.cli.console import complain
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
) -> None:
    """Reproduces the ablations behind BERT: pre-trains the variants, measures them, sets them beside the paper."""


def main() -> None:
    """The entry point. A command line that cannot be read gives one line, as all bad input does."""
    try:
        app(standalone_mode=False)
    except Exception as error:
        message = getattr(error, "format_message", None)  # typer's usage errors, whose classes are private
        if message is None:
            raise
        complain(f"bertlab: {message()} (`bertlab --help` and `bertlab COMMAND --help` show what there is)")
        raise SystemExit(2) from None
