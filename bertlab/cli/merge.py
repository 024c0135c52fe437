"""`bertlab merge`: joins stores or exported results."""

from pathlib import Path

from bertlab.cli.console import console, print_json, say
from bertlab.cli.options import JSON, STORE, argument, option
from bertlab.names import plain
from bertlab.progress import Interrupted


def merge(
    stores: list[Path] = argument(..., "STORE", "Stores or exported results."),
    into: Path = option(Path("runs"), "DIR", "The store to write; existing runs are kept.", envvar=STORE),
    json: bool = JSON,
) -> None:
    """Join several stores.

    Several people can train different seeds of a study (`--seeds 0-2`, `--seeds 3-5`) and report them together.

    Example: bertlab merge hers/runs his/runs --into runs
    """
    from bertlab.store.merge import merge as joined
    from bertlab.store.runs import Store

    fresh = not into.exists()
    try:
        with console().status("comparing checksums") as status:
            copied, present, records, notes = joined(
                stores, into, lambda done, total: status.update(f"copying runs: {done} of {total}")
            )
    except Interrupted:
        if fresh:
            Store(into).remove_if_empty()
        raise
    for note in notes:
        say(plain(note))
    studies = []
    for record in records:
        seeds = sorted({row.pretrain_seed for row in record.rows})
        name = plain(f"{record.study}, scale {record.scale}")  # from other people's stores
        say(f"{name}: {len(record.cells)} values, seeds {', '.join(map(str, seeds))}")
        studies.append({"study": record.study, "scale": record.scale, "values": len(record.cells), "seeds": seeds})
    say(f"{into}: {copied} new runs, {present} were there. Next: `bertlab report --runs {into}`")
    if json:
        print_json({"into": str(into), "new": copied, "known": present, "studies": studies, "notes": notes})
