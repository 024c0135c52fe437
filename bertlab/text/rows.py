"""Reads the rows of local files: `.jsonl`, `.csv` and `.tsv`, each optionally gzipped, and `.parquet`."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from bertlab.errors import BadInput
from bertlab.store.files import unzipped
from bertlab.wording import count

Rows = Iterator[dict[str, Any]]
"""The value of each column by its name."""
LONGEST_CELL = 2**31 - 1
"""Characters of a cell of a table; Python's own limit, 131,072, is less than a long document has."""


def read(path: Path, column: str = "") -> Rows:
    """The rows of a file; of a Parquet file that has `column`, that column alone.

    Cells of `.csv` and `.tsv` are texts; `.tsv` has no quoting, as in GLUE's files. Raises `BadInput` that names a
    damaged file, and the line where there is one.
    """
    with opened(path) as stream:
        if path.suffix == ".parquet":
            yield from _parquet(path, stream, column)
        else:
            yield from _json(path, stream) if ".jsonl" in path.name else _cells(path, stream)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file, decompressed if its name ends with `.gz`. Raises `BadInput` if it is found damaged meanwhile."""
    try:
        with unzipped(path, "file") as stream:
            yield stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(f"{path} is a damaged gzip file ({error}): remove it and make or fetch it again") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 ({error.reason}): save it as UTF-8") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror or error}): check the file") from None


def _parquet(path: Path, stream: IO[bytes], column: str) -> Rows:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(stream) as file:
            _require_distinct(file.schema_arrow.names)
            columns = [column] if column in file.schema_arrow.names else None
            for batch in file.iter_batches(batch_size=256, columns=columns):  # documents may be long
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, ValueError, OverflowError) as error:  # also a value that Python cannot hold
        raise BadInput(f"{path} is not a Parquet file that can be read: {error}") from None


def _json(path: Path, stream: IO[bytes]) -> Rows:
    for number, line in enumerate(stream, start=1):
        if line.isspace():
            continue
        try:
            row = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path} line {number} is not JSON ({error}): give one object per line") from None
        if not isinstance(row, dict):
            raise BadInput(f"{path} line {number} is not a JSON object: give one object per line")
        yield row


def _cells(path: Path, stream: IO[bytes]) -> Rows:
    form: Any = {} if ".csv" in path.name else {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
    csv.field_size_limit(LONGEST_CELL)
    try:
        with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, strict=True, **form)
            _require_distinct(names := next(reader, []))
            for row in filter(None, reader):
                if len(row) != len(names):
                    raise ValueError(f"line {reader.line_num} has {count(len(row), 'cell')}, the header {len(names)}")
                yield dict(zip(names, row, strict=True))
    except (csv.Error, ValueError) as error:  # also text that is not UTF-8
        raise BadInput(f"{path} is not a table with a header and as many cells in each row: {error}") from None


def number(cell: str) -> int | float | str:
    """A cell as a whole number or a number, if it is one."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(cell)
    return cell


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _require_distinct([name for name, _ in pairs])
    return dict(pairs)


def _require_distinct(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise ValueError(f"it has '{max(names, key=names.count)}' twice")
