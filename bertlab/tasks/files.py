"""Reads local task files: `<split>.jsonl`, `<split>.jsonl.gz` or `<split>.parquet`."""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput
from bertlab.store.files import kind, opened, unzipped

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")
"""The suffixes of task files, in order of precedence."""

Rows = Iterator[dict[str, Any]]
"""The rows of a split: the value of each column by its name."""


def existing(folder: Path, split: str) -> Path | None:
    """The file of a split in a folder, if there is one."""
    paths = (folder / f"{split}{suffix}" for suffix in SUFFIXES)
    return next((path for path in paths if kind(path, "task file") == "file"), None)


def find(folder: Path, split: str) -> Path:
    """The file of a split in a folder; if it is missing, `BadInput` lists the files of the folder."""
    path = existing(folder, split)
    if path is None:
        there = ", ".join(sorted(each.name for each in folder.glob("*")))
        raise BadInput(f"{folder} has no {split}.jsonl (or .jsonl.gz, .parquet): it has {there or 'nothing'}")
    return path


def read(path: Path) -> Rows:
    """Reads the rows of a file. Raises `BadInput` that names a damaged file, and the line where there is one."""
    try:
        if path.suffix == ".parquet":
            yield from _parquet(path)
            return
        with unzipped(path, "task file") as stream:
            yield from _json(path, stream)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(f"{path} is damaged ({error}): make the file again") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}") from None


def _parquet(path: Path) -> Rows:
    import pyarrow
    import pyarrow.parquet

    with opened(path, "task file") as stream:
        try:
            with pyarrow.parquet.ParquetFile(stream) as file:
                _require_distinct(file.schema_arrow.names)
                for batch in file.iter_batches():
                    yield from batch.to_pylist()
        except (pyarrow.ArrowException, ValueError, OverflowError) as error:  # also a value that Python cannot hold
            raise BadInput(f"{path} is not a Parquet file that can be read: {error}") from None


def _json(path: Path, lines: Iterable[bytes]) -> Rows:
    for number, line in enumerate(lines, start=1):
        if line.isspace():
            continue
        try:
            row = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path} line {number} is not JSON ({error}): give one object per line") from None
        if not isinstance(row, dict):
            raise BadInput(f"{path} line {number} is not a JSON object: give one object per line")
        yield row


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _require_distinct([name for name, _ in pairs])
    return dict(pairs)


def _require_distinct(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise ValueError(f"it has '{max(names, key=names.count)}' twice")
