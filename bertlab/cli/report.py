"""`bertlab report`: writes the tables and figures of all finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bertlab.cli.console import command, say


@command
def report(
    studies: Annotated[list[str] | None, typer.Argument(help="Studies to report; all that were run, if none.")] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--runs",
            envvar="BERTLAB_RUNS",
            help="The store of runs, or exported results; several are seen as one.  [default: runs]",
            show_envvar=True,
            metavar="DIR",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the pages go.", metavar="DIR")] = Path("reports"),
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="md, html or latex; md and html, if none.", metavar="FORMAT")
    ] = None,
    old: Annotated[
        Path | None, typer.Option("--compare", help="Show what changed since another store.", metavar="OLD_STORE")
    ] = None,
) -> None:
    """Write tables, figures and verdicts of all finished runs."""
    from bertlab.cli.results import print_changes, print_result
    from bertlab.report import page
    from bertlab.store.merge import Joined
    from bertlab.store.runs import Store

    roots = runs or [Path("runs")]
    stores = [Store(root, lenient=True) for root in roots]
    store = stores[0] if len(stores) == 1 else Joined(stores)
    if isinstance(store, Joined):
        for note in store.notes():
            say(note)
    written = page.write(studies or [], store, out, formats or page.DEFAULT, old)
    for each in written.evidence:
        print_result(each)
    if written.changes:
        print_changes(written.changes)
    for path in written.pages:
        say(f"wrote {path}")
