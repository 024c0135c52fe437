"""`bertlab report`: writes the tables and figures of finished runs."""

from pathlib import Path

from bertlab.cli.console import say
from bertlab.cli.options import Names, argument, option


def report(
    studies: Names = argument(None, "STUDY", "Studies; default: all that were run."),
    runs: list[Path] | None = option(
        None,
        "--runs",
        "DIR",
        "A store or exported results; repeat it to report several together. [default: runs]",
        envvar="BERTLAB_RUNS",
        show_envvar=True,
    ),
    out: Path = option(Path("reports"), "--out", "DIR", "Directory of the pages."),
    formats: Names = option(None, "--format", "FORMAT", "md, html or latex; default: md and html."),
    old: Path | None = option(None, "--compare", "OLD_STORE", "Compare with the results in another store."),
) -> None:
    """Write tables, figures and verdicts from finished runs."""
    from bertlab.cli.results import print_result
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
