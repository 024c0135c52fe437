"""`bertlab export`: writes a checkpoint for transformers, or the results of a study."""

import os
import shutil
from pathlib import Path

from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, RUN, RUNS, argument, option
from bertlab.errors import BadInput, unusable, writing


def export(
    run: str = RUN,
    directory: Path = argument(..., "DIR", "A new directory to write."),
    results: bool = option(False, "--results", None, "RUN is a study, or `all`: write its results, without weights."),
    runs: Path = RUNS,
    json: bool = JSON,
) -> None:
    """Write a model as a transformers checkpoint.

    Writes BERT, or RoFormer for rotary positions. With --results, writes the results of a study, or of `all`, for
    `bertlab merge` and `bertlab report`.

    Example: bertlab export masking-80-10-10-seed0 my-bert
    """
    from bertlab.report import export as exports
    from bertlab.store.files import kind, sweep
    from bertlab.store.runs import Store

    if kind(directory, "DIR"):
        raise BadInput(f"export target '{directory}' exists already: name a new directory")
    store = Store(runs)
    existing = next(path for path in directory.absolute().parents if path.exists())
    beside = existing / f".{directory.name}.{os.getpid()}.part"
    try:
        sweep(existing / directory.name)
        beside.mkdir()
    except OSError as error:
        raise unusable(error, "export target", directory) from error
    try:
        with writing(directory, "export target"):
            what = (exports.results if results else exports.checkpoint)(store, run, beside)
            directory.parent.mkdir(parents=True, exist_ok=True)
            beside.rename(directory)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    say(f"wrote {what} to {directory}")
    if json:
        files = sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
        print_json({"wrote": what, "directory": str(directory), "files": files})
