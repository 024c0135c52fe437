"""`bertlab report`: writes the tables and figures of finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bertlab.cli.console import print_table, say
from bertlab.cli.options import Names, argument, option

if TYPE_CHECKING:
    from bertlab.report.evidence import Evidence


def report(
    studies: Names = argument(None, "STUDY", "Studies; default: all that were run."),
    runs: list[Path] | None = option(
        None,
        "--runs",
        "DIR",
        "A store or exported results; repeat it to report several together. [default: runs]",
        envvar="BERTLAB_RUNS",
    ),
    out: Path = option(Path("reports"), "--out", "DIR", "Directory of the pages."),
    formats: Names = option(None, "--format", "FORMAT", "md, html or latex; default: md and html."),
    old: Path | None = option(None, "--compare", "OLD_STORE", "Compare with the results in another store."),
) -> None:
    """Write tables, figures and verdicts from finished runs."""
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
        say(f"Since {written.changes.since}: {written.changes.summary}")
    for path in written.pages:
        say(f"wrote {path}")


def print_result(evidence: Evidence) -> None:
    """Prints the means of a study beside the published values, differences to the baseline, and verdicts."""
    from bertlab.report import findings, tables

    title = f"{evidence.study}: scale {evidence.scale} {evidence.setting}"
    results = tables.results(evidence, short=True)
    print_table(results.columns, results.rows, title)
    for table in (tables.differences(evidence, short=True), findings.brief(findings.findings(evidence))):
        if table.rows:
            print_table(table.columns, table.rows)
    seeds = len({each.seed for each in evidence.pretrainings})
    if evidence.imported:
        number = len({cell.finetune_seed for cell in evidence.cells})
        say(f"Points: mean (sd), n = {number} fine-tuning seeds on one checkpoint; differences ± half of a 95 % CI.")
    elif seeds > 1:
        say(f"Points: mean (sd), n = {seeds} seeds; differences ± half of a 95 % CI.")
    else:
        say("Points: mean (sd over fine-tuning seeds); one pre-training seed gives no interval and decides nothing.")
