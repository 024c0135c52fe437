"""`bertlab report`: writes the tables and figures of finished runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import complain, print_json, print_table, say
from bertlab.cli.options import JSON, Names, argument, option

if TYPE_CHECKING:
    from bertlab.report.evidence import Evidence
    from bertlab.report.page import Report


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
    json: bool = JSON,
) -> None:
    """Write tables, figures and verdicts from finished runs."""
    from bertlab.report import page
    from bertlab.report.pages.agreement import summary
    from bertlab.store.merge import Joined, opened

    store = opened(runs or [Path("runs")])
    if isinstance(store, Joined):
        for note in store.notes():
            (complain if json else say)(note)
    written = page.write(studies or [], store, out, formats or page.DEFAULT, old)
    if json:
        print_json(_data(written))
        return
    for each in written.evidence:
        print_result(each)
    if written.agreement.final:
        say(summary(written.agreement))
    if written.changes:
        say(f"Since {written.changes.since}: {written.changes.summary}")
    for path in written.pages:
        say(f"wrote {path}")


def _data(written: Report) -> dict[str, Any]:
    """The agreement, a line for each claim as in the CSV, and the pages."""
    from bertlab.report import tidy

    claims = tidy.claims(written.evidence)
    return {
        "agreement": written.agreement.figures(),
        "findings": claims.where(claims.notna(), None).to_dict("records"),
        "pages": [str(path) for path in written.pages],
    }


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
        places = {(cell.variant, cell.measurement, cell.pretrain_seed) for cell in evidence.cells}
        fewest = min(Counter(place[:2] for place in places).values(), default=seeds)
        n = f"{seeds} seeds" if fewest == seeds else f"{fewest} to {seeds} seeds"
        n += ", 1 where no sd stands" if fewest == 1 else ""
        say(f"Points: mean (sd), n = {n}; differences ± half of a 95 % CI.")
    else:
        say("Points: mean (sd over fine-tuning seeds); one pre-training seed gives no interval and decides nothing.")
