"""`bertlab fill-mask`: what a finished model puts in the place of [MASK]."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bertlab.cli.console import console, exit_codes, print_json
from bertlab.cli.options import Json, Runs


@exit_codes
def fill_mask(
    run: Annotated[str, typer.Argument(help="A pre-training: its id, label or directory.", metavar="RUN")],
    text: Annotated[str, typer.Argument(help='A text with [MASK] in it, as "the [MASK] sat down".')],
    top: Annotated[int, typer.Option(min=1, max=1000, help="Words to show.")] = 5,
    runs: Runs = Path("runs"),
    json: Json = False,
) -> None:
    """Show the words that a pre-trained model finds likeliest in the place of [MASK]."""
    from bertlab.fill_mask import fill
    from bertlab.store.runs import PRETRAINED, Store

    found = Store(runs).match(run, lambda each: each.kind in PRETRAINED)
    found.verify()
    places = fill(found.path, text, top)
    if json:
        print_json([[vars(guess) for guess in guesses] for guesses in places])
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD)
    for number in range(1, len(places) + 1):
        table.add_column(Text("[MASK]" if len(places) == 1 else f"[MASK] {number}"))
        table.add_column("%", justify="right")
    for row in zip(*places, strict=True):
        table.add_row(*(cell for guess in row for cell in (Text(guess.piece), f"{100 * guess.probability:.1f}")))
    console().print(table)
