"""`bertlab`: the commands, each in a file of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from bertlab.cli.ablate import ablate
from bertlab.cli.export import export
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
for command in (ablate, report, studies, runs, export):
    app.command()(command)


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", help="Show the version.", is_eager=True)] = False,
) -> None:
    """Reproduces the ablations behind BERT: pre-trains the variants, measures them, sets them beside the paper."""


def main() -> None:
    """The entry point."""
    app()
