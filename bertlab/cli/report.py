"""`bertlab report`: writes the tables and figures of finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, SEVERAL, Names, argument, option
from bertlab.cli.results import FAIL_ON, check_fail_on, failing, print_results, results_data
from bertlab.wording import pluralise

if TYPE_CHECKING:
    from bertlab.report.page import Report


def report(
    study: Names = argument(None, "STUDY", "Studies; default: all that were run."),
    runs: list[Path] | None = SEVERAL,
    out: Path = option(Path("reports"), "DIR", "Directory of the pages."),
    format_: Names = option(None, "md|html|latex", "Repeatable; default: md and html."),
    data: Path | None = option(
        None, "DIR", "Local tasks: shows the texts of examples that variants disagree on.", envvar="BERTLAB_DATA"
    ),
    compare: Path | None = option(None, "OLD_STORE", "Compare with the results in another store."),
    fail_on: Names = FAIL_ON,
    json: bool = JSON,
) -> int:
    """Write tables, figures and verdicts from finished runs.

    Example: bertlab report masking --out reports
    """
    from bertlab.report import page
    from bertlab.store.merge import MergedStores, opened

    check_fail_on(fail_on)
    store = opened(runs or [Path("runs")])
    if isinstance(store, MergedStores):
        for note in store.notes():
            say(note)
    written = page.write(study or [], store, out, format_ or page.DEFAULT, compare, data)
    if json:
        files = {"pages": [*map(str, written.pages)], "tables": [*map(str, written.tables)]}
        print_json({"agreement": written.agreement.figures(), **files, **results_data(written.studies)})
    else:
        _tell(written)
    return 1 if failing(written.studies, fail_on) else 0


def _tell(written: Report) -> None:
    """Prints the results of a report, and what it wrote."""
    from bertlab.report.pages import notes

    print_results(written.studies, differences=True)
    for line in notes("agreement_summary", written.agreement):
        say(line)
    if written.changes:
        say(f"Since {written.changes.since}: {written.changes.summary}")
    first, *rest = written.pages
    more = [pluralise(len(rest), "more page")] if rest else []
    say(f"wrote {first}, {' and '.join([*more, pluralise(len(written.tables), 'CSV file')])}")
