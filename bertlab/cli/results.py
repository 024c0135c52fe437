"""Draws the result of a study on the console, as `ablate` and `report` end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.report import tables
from bertlab.report.escape import plain
from bertlab.report.evidence import Evidence, gather

if TYPE_CHECKING:
    from rich.table import Table


def print_record(record: Mapping[str, Any], runs: Path) -> None:
    """Prints the results of one record of the store `runs`."""
    from bertlab.store import Store

    print_result(gather(Store(runs), record))


def print_result(evidence: Evidence) -> None:
    """Prints the means of a study's rows beside the published figures, and the differences to the baseline."""
    from bertlab.cli.console import console

    title = f"{evidence.study}: scale {evidence.scale} on {' and '.join(evidence.corpus)}"
    console().print(_drawn(tables.results(evidence), title))
    console().print(_drawn(tables.differences(evidence), ""))
    if any(cell.value is not None for cell in evidence.cells):
        console().print(
            "Points: mean (sd, n = pre-training seeds x restarts); differences with their 95 % interval over seeds, "
            "none with one seed.",
            style="dim",
        )


def _drawn(table: tables.Table, title: str) -> Table:
    """A table of rich; names are text, never markup."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    drawn = Table(title=Text(plain(title)) if title else None, box=SIMPLE_HEAD, title_justify="left")
    for index, name in enumerate(table.columns):
        drawn.add_column(Text(plain(name)), justify="left" if index == 0 else "right")
    for row in table.rows:
        drawn.add_row(*(Text(plain(text)) for text in row))
    return drawn
