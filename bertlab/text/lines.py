"""Rows with the lines that they are on, of files of any size: a row that cannot be read is an error of its own."""

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from bertlab.errors import BadInput
from bertlab.text import rows
from bertlab.wording import pluralise

Line = tuple[int, dict[str, Any] | BadInput]
"""The number of a line, from 1, and its row, or why it cannot be read."""
TABLES = {".csv": ",", ".tsv": "\t"}
"""The suffixes of tables, with what divides their cells; all other files have a JSON object on each line."""
STANDARD_INPUT = "-"


@contextmanager
def opened(name: str) -> Iterator[Iterator[Line]]:
    """The lines of a file, decompressed if its name ends with `.gz`, or of standard input, `-`, which is a table with
    commas unless it begins with `{` or `[`. Raises `BadInput` for a file that cannot be read."""
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise BadInput("standard input is closed: give a file, or rows on standard input")
        with rows.reading("standard input"):
            stream: Any = sys.stdin.buffer
            first = stream.peek(1).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
            yield of_json(stream) if first in (b"{", b"[", b"") else of_table(stream, ",")
        return
    path = Path(name)
    delimiter = next((TABLES[suffix] for suffix in path.suffixes if suffix in TABLES), "")
    with rows.opened(path) as stream:
        yield of_table(stream, delimiter) if delimiter else of_json(stream)


def of_json(stream: IO[bytes]) -> Iterator[Line]:
    """The lines of JSON in a stream; empty ones are left out."""
    for number, line in enumerate(stream, start=1):
        if line.isspace():
            continue
        try:
            yield number, rows.parsed(line, f"line {number}")
        except BadInput as error:
            yield number, error


def of_table(stream: IO[bytes], delimiter: str) -> Iterator[Line]:
    """The rows of a table whose first line names the columns; a row has the number of its last line. Quotes enclose
    cells unless tabs divide them, as in `rows.read`. Raises `BadInput` for a header that cannot be read."""
    csv.field_size_limit(rows.LONGEST_CELL)
    with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
        quoting: Any = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
        reader = csv.reader(text, strict=True, delimiter=delimiter, quoting=quoting)
        names = _header(reader)
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield reader.line_num, BadInput(f"line {reader.line_num} is no row of a table: {error}")
                continue
            number = reader.line_num
            if cells and len(cells) != len(names):
                differ = f"line {number} has {pluralise(len(cells), 'cell')}, the header {len(names)}"
                yield number, BadInput(f"{differ}: give each row as many")
            elif cells:
                yield number, dict(zip(names, cells, strict=True))


def _header(reader: Iterator[list[str]]) -> list[str]:
    """The names of the columns of a table."""
    try:
        names = next(reader, [])
        rows.require_distinct(names)
    except UnicodeDecodeError:  # of the file, whose name the caller knows
        raise
    except (csv.Error, ValueError) as error:
        raise BadInput(f"has no header that names each column once ({error}): correct its first line") from None
    return names
