"""`bertlab merge`: joins the stores of several people, or the results that they exported."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bertlab.cli.console import exit_codes, say


@exit_codes
def merge(
    stores: Annotated[
        list[Path], typer.Argument(help="Stores, or results written by `export --results`.", metavar="STORE")
    ],
    into: Annotated[
        Path,
        typer.Option(
            "--into",
            "--runs",
            envvar="BERTLAB_RUNS",
            show_envvar=True,
            metavar="DIR",
            help="The store that they are joined into: a new one, or one that holds runs.",
        ),
    ] = Path("runs"),
) -> None:
    """Join stores of several people: runs by their checksums, studies by all that was asked for.

    Each trains its own seeds (`ablate masking --seeds 0-2`, `--seeds 3-5`); joined, they are one study.
    """
    from bertlab.cli.console import console
    from bertlab.names import plain
    from bertlab.store.merge import merge as joined
    from bertlab.store.union import spelled

    with console().status("comparing checksums") as status:
        found = joined(stores, into, lambda done, total: status.update(f"{done} of {total} runs are copied"))
    for note in found.notes:
        say(note)
    for record in found.records:
        seeds = sorted({row["pretrain_seed"] for row in record["rows"]})
        text = f"{record['study']}, scale {record['scale']}: {len(record['cells'])} values, --seeds {spelled(seeds)}"
        say(plain(text))
    say(f"{into}: {found.copied} runs are new, {found.known} were there; `bertlab report --runs {into}` reports them")
