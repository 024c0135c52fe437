"""`bertlab export`: a transformers checkpoint directory of a run, or the results of a study without weights."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from bertlab.cli.console import exit_codes, say
from bertlab.cli.options import Runs


@exit_codes
def export(
    run: Annotated[str, typer.Argument(help="A pre-training: its id, label or directory.", metavar="RUN")],
    directory: Annotated[Path, typer.Argument(help="The directory to write; it must not exist.", metavar="DIR")],
    results: Annotated[bool, typer.Option("--results", help="RUN is a study: write its results, no weights.")] = False,
    runs: Runs = Path("runs"),
) -> None:
    """Write a pre-trained model as a transformers checkpoint (BERT, or RoFormer where positions are rotary)."""
    import os

    from bertlab.errors import BadInput, filling
    from bertlab.store.files import kind, sweep
    from bertlab.store.runs import Store

    if kind(directory, "DIR"):
        raise BadInput(f"export target '{directory}' exists already: give a directory that does not")
    store = Store(runs)
    missing = [path for path in directory.parents if not path.exists()]
    beside = directory.with_name(f".{directory.name}.{os.getpid()}.part")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        sweep(directory)
        beside.mkdir()
    except OSError as error:
        raise BadInput(f"export target '{directory}' cannot be written: {error.strerror}") from error
    try:
        from bertlab.report import export as exports

        with filling("export target", directory):
            what = (exports.results if results else exports.checkpoint)(store, run, beside)
            beside.rename(directory)
    finally:
        if beside.exists():
            import shutil

            shutil.rmtree(beside)
        if not directory.exists():
            for path in missing:  # what was made for it
                with suppress(OSError):
                    path.rmdir()
    say(f"wrote {what} to {directory}")
