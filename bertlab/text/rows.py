"""Reads the rows of local files: `.jsonl`, `.csv` and `.tsv`, each optionally gzipped, and `.parquet`."""

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.store.files import unzipped
from bertlab.wording import pluralise

Rows = Iterator[dict[str, Any]]
"""The value of each column by its name."""
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
        else:
            yield from _json(path, stream) if ".jsonl" in path.name else _cells(path, stream, header, quoted)


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


def _cells(path: Path, stream: IO[bytes], header: Sequence[str], quoted: bool | None) -> Rows:
    comma = ".csv" in path.name
    quoting: Any = csv.QUOTE_MINIMAL if (comma if quoted is None else quoted) else csv.QUOTE_NONE
    quotes = _Quotes(path) if not comma and quoted is None else None
    csv.field_size_limit(LONGEST_CELL)
    try:
        with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, strict=True, delimiter="," if comma else "\t", quoting=quoting)
            _require_distinct(names := list(header or next(reader, [])))
            if quotes and names and all(map(_ENCLOSED.fullmatch, names)):
                quotes.ask(names[0])
            for row in filter(None, reader):
                if quotes:
                    quotes.add(row, len(row) == len(names))
                if header and row == names:
                    raise ValueError("its first line is a header: leave out the task's field columns")
                if len(row) != len(names):
                    first = f"{'columns' if header else 'the header'} {len(names)}"
                    raise ValueError(f"line {reader.line_num} has {pluralise(len(row), 'cell')}, {first}")
                yield dict(zip(names, row, strict=True))
        if quotes:
            quotes.require_text()
    except BadInput:
        raise
    except (csv.Error, ValueError) as error:  # also text that is not UTF-8
        raise BadInput(f"{path} is not a table with a header and as many cells in each row: {error}") from None


class _Quotes:
    """Whether quotes enclose the cells of a .tsv file, as programs of tables write them, or are text."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text = False
        """Whether a cell begins with a quote that does not enclose it."""
        self._doubled = ""
        """The first enclosed cell with doubled quotes in it, which hardly is a text."""

    def add(self, row: Sequence[str], whole: bool) -> None:
        """Looks at the cells of a line. Raises `BadInput` for one whose quote may enclose what ends a cell or a line,
        so that the line is not `whole`."""
        for cell in row:
            if cell.startswith('"'):
                enclosed = _ENCLOSED.fullmatch(cell)
                self._text |= not enclosed
                if not (enclosed or whole):
                    self.ask(cell)
                if enclosed and '""' in cell[1:-1]:
                    self._doubled = self._doubled or cell

    def require_text(self) -> None:
        """Raises `BadInput` if quotes enclose all cells that begin with one, and double the others."""
        if self._doubled and not self._text:
            self.ask(self._doubled)

    def ask(self, cell: str) -> NoReturn:
        """Raises `BadInput`: the user has to say what quotes are."""
        either = "to True if quotes enclose cells, to False if they are text (or save it as .csv or .jsonl)"
        raise BadInput(f"{self._path} has the cell {shown(cell)}: set the task's field quoted {either}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _require_distinct([name for name, _ in pairs])
    return dict(pairs)


def _require_distinct(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise ValueError(f"it has '{max(names, key=names.count)}' twice")
