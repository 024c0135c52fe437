"""`bertlab report`: writes the tables and figures of finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bertlab.cli.console import command, say


@command
def report(
    studies: Annotated[
        list[str] | None, typer.Argument(help="Studies; default: all that were run.", metavar="STUDY")
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--runs",
            envvar="BERTLAB_RUNS",
            help="A store or exported results; repeat it to report several together.  [default: runs]",
            show_envvar=True,
            metavar="DIR",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Directory of the pages.", metavar="DIR")] = Path("reports"),
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="md, html or latex; default: md and html.", metavar="FORMAT")
    ] = None,
    old: Annotated[
        Path | None, typer.Option("--compare", help="Compare with the results in another store.", metavar="OLD_STORE")
    ] = None,
) -> None:
    """Write tables, figures and verdicts from finished runs."""
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
