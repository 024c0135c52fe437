"""`bertlab export`: writes a transformers checkpoint of a run, or the results of a study."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from bertlab.cli.console import command, say
from bertlab.cli.options import Run, Runs, option


@command
def export(
    run: Run,
    directory: Annotated[Path, typer.Argument(help="A new directory to write.", metavar="DIR")],
    results: Annotated[bool, option("--results", None, "RUN is a study: write its results, without weights.")] = False,
    runs: Runs = Path("runs"),
) -> None:
    """Write a model as a transformers checkpoint.

    Writes BERT, or RoFormer for rotary positions. With --results, writes the results of a study for `bertlab merge`.
    """
    import os

    from bertlab.errors import BadInput, filling
    from bertlab.store.files import kind, sweep
    from bertlab.store.runs import Store

    if kind(directory, "DIR"):
        raise BadInput(f"export target '{directory}' exists already: name a new directory")
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
            for path in missing:  # created above
                with suppress(OSError):
                    path.rmdir()
    say(f"wrote {what} to {directory}")
