"""Reads the rows of local files: `.jsonl`, `.jsonl.gz` and `.parquet`."""

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from bertlab.errors import BadInput
from bertlab.store.files import unzipped

Rows = Iterator[dict[str, Any]]
"""The value of each column by its name."""


def read(path: Path, column: str = "") -> Rows:
    """The rows of a file; of a Parquet file that has `column`, that column alone.

    Raises `BadInput` that names a damaged file, and the line where there is one.
    """
    with opened(path) as stream:
        yield from _parquet(path, stream, column) if path.suffix == ".parquet" else _json(path, stream)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file, decompressed if its name ends with `.gz`. Raises `BadInput` if it is found damaged meanwhile."""
    try:
        with unzipped(path, "file") as stream:
            yield stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(f"{path} is a damaged gzip file ({error}): make the file again") from None
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


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _require_distinct([name for name, _ in pairs])
    return dict(pairs)


def _require_distinct(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise ValueError(f"it has '{max(names, key=names.count)}' twice")
