"""Draws the result of a study on the console, as `ablate` and `report` end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bertlab.names import plain
from bertlab.report import claims, tables
from bertlab.report.compare import Changes
from bertlab.report.evidence import Evidence
from bertlab.report.gather import gather

if TYPE_CHECKING:
    from rich.table import Table

    from bertlab.store.runs import Store


def print_records(records: Iterable[Mapping[str, Any]], store: Store) -> None:
    """Prints the results of these records of the store."""
    for evidence in gather(store, records):
        print_result(evidence)


def print_result(evidence: Evidence) -> None:
    """Prints the means of a study's rows beside the published figures, differences to the baseline, and verdicts."""
    from bertlab.cli.console import console, say

    title = f"{evidence.study}: scale {evidence.scale} {evidence.setting}"
    results, differences = tables.brief(evidence)
    console().print(_drawn(results, title))
    if differences.rows:
        console().print(_drawn(differences, ""))
    found = claims.brief(claims.findings(evidence))
    if found.rows:
        console().print(_drawn(found, ""))
    seeds = len({each.seed for each in evidence.pretrainings})
    if evidence.imported:
        number = len({cell.finetune_seed for cell in evidence.cells})
        say(f"Points: mean (sd), n = {number} fine-tuning seeds on one checkpoint; differences ± half of a 95 % CI.")
    elif seeds > 1:
        say(f"Points: mean (sd), n = {seeds} seeds; differences ± half of their 95 % interval.")
    else:
        say("Points: mean (sd over fine-tuning seeds), n = 1: no interval, one pre-training seed decides nothing.")


def print_changes(changes: Changes) -> None:
    """Prints what changed since another store: the means that moved, and how much changed."""
    from bertlab.cli.console import console, say

    if changes.means.rows:
        console().print(_drawn(changes.means, f"Changed since {changes.since}"))
    say(f"Since {changes.since}: {changes.summary}")


def _drawn(table: tables.Table, title: str) -> Table:
    """A table of rich; names are text, never markup."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    heading = Text(plain(title)) if title else None
    drawn = Table(title=heading, box=SIMPLE_HEAD, title_justify="left", pad_edge=False, collapse_padding=True)
    for index, name in enumerate(table.columns):
        drawn.add_column(Text(plain(name)), justify="left" if index == 0 else "right", overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(plain(text)) for text in row))
    return drawn
