"""Reads the rows of a task's local files: `<split>.jsonl`, `.csv` or `.tsv`, each optionally gzipped, or `.parquet`."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput
from bertlab.store.files import kind, opened, unzipped

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
"""The suffixes of task files, in order of precedence."""


def find(folder: Path, split: str) -> Path:
    """The file of a split in a folder; if it is missing, `BadInput` lists the files of the folder."""
    for suffix in SUFFIXES:
        path = folder / f"{split}{suffix}"
        if kind(path, "task file") == "file":
            return path
    try:
        there = sorted(each.name for each in folder.iterdir() if each.name.endswith(SUFFIXES))
    except OSError as error:
        raise BadInput(f"folder {folder} cannot be read ({error.strerror}): give the folder of a task") from None
    raise BadInput(f"{folder} has no {split}{SUFFIXES[0]} (or .parquet, .csv, .tsv): it has {_listed(there)}")


def has(folder: Path, split: str) -> bool:
    """Whether a folder has a file of a split."""
    return any(kind(folder / f"{split}{suffix}", "task file") == "file" for suffix in SUFFIXES)


def folders(mirror: Path) -> list[str]:
    """The names of the data sets in a mirror; empty if the mirror cannot be listed."""
    try:
        return sorted(each.name for each in mirror.iterdir() if each.is_dir())
    except OSError:
        return []


def columns(path: Path) -> list[str]:
    """The names of the columns, for JSON those of the first row; raises as `read`."""
    with _readable(path):
        if path.name.endswith(".parquet"):
            with _parquet(path) as file:
                return list(file.schema_arrow.names)
        with _rows(path) as rows:
            return list(next(rows, {}))


def read(path: Path, columns: Sequence[str]) -> list[list[Any]]:
    """The values of each of `columns`, in the order of the rows.

    Cells of `.csv` and `.tsv` are strings; `.tsv` has no quoting, as in GLUE's files. Raises `BadInput` that names the
    file and the row for a missing column, and for a file that is empty, damaged or not UTF-8.
    """
    with _readable(path):
        values = _columnar(path, columns) if path.name.endswith(".parquet") else _lines(path, columns)
    if not values[0]:
        raise BadInput(f"{path} has no rows: give a file with at least one")
    return values


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turns the errors of an unreadable file into `BadInput`."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 ({error.reason}): convert it to UTF-8") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(f"{path} is damaged ({error}): make the file again") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}") from None


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    import pyarrow
    import pyarrow.parquet

    try:
        with opened(path, "task file") as stream, pyarrow.parquet.ParquetFile(stream) as file:
            names = list(file.schema_arrow.names)
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise BadInput(f"{path} has two columns '{twice}': give each its own name")
            yield file
    except BadInput:
        raise
    except (pyarrow.ArrowException, ValueError) as error:
        raise BadInput(f"{path} is not a Parquet file that can be read: {error}") from None


def _columnar(path: Path, columns: Sequence[str]) -> list[list[Any]]:
    with _parquet(path) as file:
        require(str(path), columns, file.schema_arrow.names)
        table = file.read(columns=list(columns))
        return [_values(table.column(column), f"{path} column {column}") for column in columns]


def _values(column: Any, where: str) -> list[Any]:
    """The values of a column of a Parquet file; `BadInput` names the row of a value that Python cannot represent."""
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError):  # for example a date after the year 9999, or bytes that are not UTF-8
        values = []
        for value in column:
            try:
                values.append(value.as_py())
            except (ValueError, OverflowError) as error:
                raise BadInput(f"{where} row {len(values) + 1} cannot be read ({error}): give another value") from None
    return values


def _lines(path: Path, columns: Sequence[str]) -> list[list[Any]]:
    values: list[list[Any]] = [[] for _ in columns]
    with _rows(path) as rows:
        for number, row in enumerate(rows, start=1):
            for column, kept in zip(columns, values, strict=True):
                if column not in row:
                    require(f"{path} row {number}", columns, row)
                kept.append(row[column])
    return values


@contextmanager
def _rows(path: Path) -> Iterator[Iterator[dict[str, Any]]]:
    with unzipped(path, "task file") as opened, io.TextIOWrapper(opened, encoding="utf-8-sig", newline="") as text:
        yield _json(path, text) if ".jsonl" in path.name else _table(path, text)


def _json(path: Path, text: Iterator[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text, start=1):
        if not line.strip():
            continue
        try:
            row = _decoded(line)
        except RecursionError:
            raise BadInput(f"{path} line {number} is nested too deep: give one object per line") from None
        except ValueError as error:
            raise BadInput(f"{path} line {number} is not JSON ({error}): give one object per line") from None
        if not isinstance(row, dict):
            raise BadInput(f"{path} line {number} is not a JSON object: give one object per line")
        yield row


def _decoded(line: str) -> Any:
    try:
        return json.loads(line, object_pairs_hook=_object)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if isinstance(error, _Twice):
            raise
        return json.loads(line, object_pairs_hook=_object, parse_int=float)  # more digits than Python reads


class _Twice(ValueError):
    """A duplicate key in a JSON object, whose value is ambiguous."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(f"it has '{next(name for name in names if names.count(name) > 1)}' twice")
    return found


def _table(path: Path, text: Iterator[str]) -> Iterator[dict[str, Any]]:
    rows = csv.reader(text) if ".csv" in path.name else csv.reader(text, delimiter="\t", quoting=csv.QUOTE_NONE)
    try:
        header = next(rows, [])
        twice = next((name for name in header if header.count(name) > 1), None)
        if twice is not None:
            raise BadInput(f"{path} line 1 has two columns '{twice}': give each its own name")
        for row in rows:
            if row and len(row) != len(header):
                raise BadInput(
                    f"{path} line {rows.line_num} has {len(row)} cells where the header has {len(header)}: "
                    "give each row all columns"
                )
            if row:
                yield dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise BadInput(f"{path} line {rows.line_num} cannot be read: {error}") from None


def require(where: str, columns: Sequence[str], there: Collection[str]) -> None:
    """Raises `BadInput`, with the nearest name, if one of `columns` is not among the columns `there`."""
    for column in columns:
        if column not in there:
            near = difflib.get_close_matches(column, there, n=1, cutoff=0.5)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            raise BadInput(f"{where} has no column '{column}'{hint}: it has {_listed(sorted(there))}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
