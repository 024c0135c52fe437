"""Reads the rows of local files: `.jsonl`, `.csv`, `.tsv` and `.wet`, each optionally gzipped, and `.parquet`."""

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.store.files import unzipped
from bertlab.wording import pluralise

Rows = Iterator[dict[str, Any]]
"""The value of each column by its name."""
SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
"""The ends of the names of such files."""
WET = (".wet", ".wet.gz")
"""The ends of the names of Common Crawl's files of texts of pages, WARC files with records `conversion`."""
LONGEST_CELL = 2**31 - 1
"""Characters of a cell of a table; Python's own limit, 131,072, is less than a long document has."""
_ENCLOSED = re.compile(r'"(?:[^"]|"")*"')


def read(path: Path, column: str = "", header: Sequence[str] = (), quoted: bool | None = None) -> Rows:
    """The rows of a file; of a Parquet file that has `column`, that column alone.

    Cells of `.csv` and `.tsv` are texts. Their columns have the names of `header`, or of the first line. Quotes enclose
    cells if `quoted` says so; by default in `.csv`, and are text in `.tsv`, as in GLUE's files. Raises `BadInput` that
    names a damaged file, and the line where there is one, and a `.tsv` whose quotes seem to enclose cells.
    """
    with opened(path) as stream:
        if path.suffix == ".parquet":
            yield from _parquet(path, stream, column)
        elif path.name.endswith(WET):
            yield from _pages(path, stream)
        else:
            yield from _json(path, stream) if ".jsonl" in path.name else _cells(path, stream, header, quoted)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file, decompressed if its name ends with `.gz`. Raises `BadInput` if it is found damaged meanwhile."""
    with reading(path), unzipped(path, "file") as stream:
        yield stream


@contextmanager
def reading(source: Path | str) -> Iterator[None]:
    """Raises `BadInput` that names the source if it is found damaged within it."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(f"{source} is a damaged gzip file ({error}): remove it and make or fetch it again") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{source} is not UTF-8 ({error.reason}): save it as UTF-8") from None
    except OSError as error:
        raise BadInput(f"{source} cannot be read ({error.strerror or error}): check the file") from None


def _parquet(path: Path, stream: IO[bytes], column: str) -> Rows:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(stream) as file:
            require_distinct(file.schema_arrow.names)
            columns = [column] if column in file.schema_arrow.names else None
            for batch in file.iter_batches(batch_size=256, columns=columns):  # documents may be long
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, ValueError, OverflowError) as error:  # also a value that Python cannot hold
        raise BadInput(f"{path} is not a Parquet file that can be read: {error}") from None


def _json(path: Path, stream: IO[bytes]) -> Rows:
    for number, line in enumerate(stream, start=1):
        if not line.isspace():
            yield parsed(line, f"{path} line {number}")


def parsed(line: bytes, where: str) -> dict[str, Any]:
    """The row of a line of JSON. Raises `BadInput`, with the words `where`, if it is none."""
    try:
        row = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where} is not JSON ({error}): give one object per line") from None
    if not isinstance(row, dict):
        raise BadInput(f"{where} is not a JSON object: give one object per line")
    return row


def _pages(path: Path, stream: IO[bytes]) -> Rows:
    """The texts of a WET file; a character that is not UTF-8 is replaced."""
    while line := stream.readline():
        if line.isspace():
            continue
        if not line.startswith(b"WARC/"):
            begins = shown(line[:20].decode("utf-8", "replace").strip())
            raise BadInput(f"{path} is no WET file: a record begins with {begins}, not with WARC/1.0")
        headers = {}
        while (line := stream.readline()).strip():
            name, _, value = line.partition(b":")
            headers[name.strip().lower()] = value.strip()
        length = headers.get(b"content-length", b"")
        usable = length.isdigit() and len(length) < 10  # Python makes room for all bytes before it reads them
        text = stream.read(int(length)) if usable else b""
        if not usable or len(text) < int(length):
            raise BadInput(
                f"{path} is a damaged WET file, where a record has another length than it says: fetch it again"
            )
        if headers.get(b"warc-type") == b"conversion":
            yield {"text": text.decode("utf-8", "replace")}


def _cells(path: Path, stream: IO[bytes], header: Sequence[str], quoted: bool | None) -> Rows:
    comma = ".csv" in path.name
    quoting: Any = csv.QUOTE_MINIMAL if (comma if quoted is None else quoted) else csv.QUOTE_NONE
    csv.field_size_limit(LONGEST_CELL)
    try:
        with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, strict=True, delimiter="," if comma else "\t", quoting=quoting)
            require_distinct(names := list(header or next(reader, [])))
            rows = reader if comma or quoted is not None else _with_quotes_as_text(path, names, reader)
            for row in filter(None, rows):
                if header and row == names:
                    raise ValueError("its first line is a header: leave out the task's field columns")
                if len(row) != len(names):
                    first = f"{'columns' if header else 'the header'} {len(names)}"
                    raise ValueError(f"line {reader.line_num} has {pluralise(len(row), 'cell')}, {first}")
                yield dict(zip(names, row, strict=True))
    except (BadInput, UnicodeDecodeError):
        raise
    except (csv.Error, ValueError) as error:
        raise BadInput(f"{path} is not a table with a header and as many cells in each row: {error}") from None


def _with_quotes_as_text(path: Path, names: Sequence[str], rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """The rows of a .tsv file, whose quotes are text. Raises `BadInput` if they seem to enclose cells, as programs of
    tables write them: all names; all cells of a column; a cell that goes on in another one; or all cells that begin
    with a quote, if one of them has doubled quotes in it, which hardly is a text."""
    if names and all(map(_ENCLOSED.fullmatch, names)):
        raise _unclear_quotes(path, names[0])
    text, doubled, row = False, "", list[str]()
    enclosed = [*range(len(names))]
    for row in rows:
        enclosed = [column for column in enclosed if column < len(row) and _ENCLOSED.fullmatch(row[column])]
        for cell in row:
            if not cell.startswith('"'):
                continue
            if not _ENCLOSED.fullmatch(cell):
                text = True
                if len(row) != len(names):
                    raise _unclear_quotes(path, cell)
            elif '""' in cell[1:-1]:
                doubled = doubled or cell
        yield row
    if enclosed and row:
        raise _unclear_quotes(path, row[enclosed[0]])
    if doubled and not text:
        raise _unclear_quotes(path, doubled)


def _unclear_quotes(path: Path, cell: str) -> BadInput:
    """The error that asks the user what quotes are."""
    either = "to True if quotes enclose cells, to False if they are text (or save it as .csv or .jsonl)"
    return BadInput(f"{path} has the cell {shown(cell)}: set the task's field quoted {either}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    require_distinct([name for name, _ in pairs])
    return dict(pairs)


def require_distinct(names: list[str]) -> None:
    """Raises `ValueError` if a column is there twice."""
    if len(set(names)) < len(names):
        raise ValueError(f"it has '{max(names, key=names.count)}' twice")
