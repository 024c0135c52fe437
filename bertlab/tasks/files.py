"""Reads local task files: `<split>.jsonl`, `.csv` or `.tsv`, each optionally gzipped, or `.parquet`."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput
from bertlab.store.files import kind, opened, unzipped

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
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
        there = sorted(each.name for each in folder.glob("*") if each.name.endswith(SUFFIXES))
        raise BadInput(
            f"{folder} has no {split}{SUFFIXES[0]} (or .parquet, .csv, .tsv): it has {', '.join(there) or 'nothing'}"
        )
    return path


def read(path: Path) -> Rows:
    """Reads the rows of a file.

    Cells of `.csv` and `.tsv` are strings; `.tsv` has no quoting, as in GLUE's files. Raises `BadInput` that names the
    file, and the line where there is one, for a file that is damaged or not UTF-8.
    """
    try:
        if path.suffix == ".parquet":
            yield from _parquet(path)
            return
        with unzipped(path, "task file") as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            yield from _json(path, text) if ".jsonl" in path.name else _table(path, text)
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 ({error.reason}): convert it to UTF-8") from None
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
                _require_distinct(file.schema_arrow.names, str(path))
                for batch in file.iter_batches():
                    yield from batch.to_pylist()
        except BadInput:
            raise
        except (pyarrow.ArrowException, ValueError, OverflowError) as error:  # also a value that Python cannot hold
            raise BadInput(f"{path} is not a Parquet file that can be read: {error}") from None


def _json(path: Path, text: Iterator[str]) -> Rows:
    for number, line in enumerate(text, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_object)
        except RecursionError:
            raise BadInput(f"{path} line {number} is nested too deep: give one object per line") from None
        except ValueError as error:
            raise BadInput(f"{path} line {number} is not JSON ({error}): give one object per line") from None
        if not isinstance(row, dict):
            raise BadInput(f"{path} line {number} is not a JSON object: give one object per line")
        yield row


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"it has '{name}' twice")
        found[name] = value
    return found


def _table(path: Path, text: Iterator[str]) -> Rows:
    rows = csv.reader(text) if ".csv" in path.name else csv.reader(text, delimiter="\t", quoting=csv.QUOTE_NONE)
    try:
        header = next(rows, [])
        _require_distinct(header, f"{path} line 1")
        for row in filter(None, rows):
            if len(row) != len(header):
                raise BadInput(
                    f"{path} line {rows.line_num} has {len(row)} cells where the header has {len(header)}: "
                    "give each row all columns"
                )
            yield dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise BadInput(f"{path} line {rows.line_num} cannot be read: {error}") from None


def _require_distinct(names: Sequence[str], where: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInput(f"{where} has two columns '{twice}': give each its own name")
