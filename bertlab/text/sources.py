"""Sources of documents: local files, data sets of the Hugging Face Hub, the embedded microworld.

Local files are `.txt`, `.jsonl` and `.parquet`, each also gzipped (`.gz`). A record of a `.jsonl` or `.parquet` file
is one document, its `text` column; a `.txt` file is one document, or, beyond a million characters, several that are
cut at blank lines. A folder stands for the files of its training split if it has any (`train.jsonl`,
`train-00000-of-00002.parquet`), else for all supported files, in the order of their names.
"""

import codecs
import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from bertlab.errors import BadInput, unknown, unusable
from bertlab.hub import datasets as hub
from bertlab.hub.datasets import Dataset, Reference
from bertlab.hub.index import Index
from bertlab.machine import Machine
from bertlab.progress import stop_if_asked
from bertlab.recipe import Source
from bertlab.store.files import digest, expanded, kind, unzipped
from bertlab.text.sentences import cut

ALIASES = {
    "wikitext-103": "Salesforce/wikitext:wikitext-103-raw-v1",
    "wikipedia": "wikimedia/wikipedia:20231101.en",
}
"""Short names of data sets of the Hub; each can be followed by `@revision`."""
SUFFIXES = (".txt", ".jsonl", ".parquet")
DOCUMENT = 1_000_000
"""Characters of the longest document of a `.txt` file."""

_OF_LINES = ("Salesforce/wikitext",)
"""Data sets whose records are single lines of articles."""
LOCAL = "give local files"
"""What to do without the Hub."""
_TITLE = re.compile(r"= (?!= )(.+) =")


@dataclass(frozen=True)
class Located:
    """A source of documents and its place on this machine."""

    source: Source
    """Its name and content, which ids depend on."""
    origin: Literal["microworld", "files", "hub"]
    files: tuple[Path, ...] = ()
    dataset: Dataset | None = None
    """The data set of the Hub, at its commit."""
    lines: bool = False
    """Whether records are single lines, which `articles` joins."""


def resolve(name: str, *, machine: Machine, column: str = "text") -> Located:
    """Finds the source called `name`: `microworld`, a path, a folder of the mirror `machine.data`, or on the Hub.

    `name@revision` is an earlier state of a data set of the Hub. Hashes local files, and fetches the hashes of those of
    the Hub. Raises `BadInput` if there is no such source, or if it has no usable file.
    """
    if name == "microworld":
        from bertlab import synthetic as microworld

        source = Source(name=name, content=f"microworld:{microworld.VERSION}")
        return Located(source=source, origin="microworld")
    mirrored = machine.data / name if machine.data and name and not Path(name).is_absolute() else None
    for path in (expanded(name, "corpus"), mirrored):
        if name and path is not None and kind(path, "corpus"):
            files = _files(path)
            stem = path.resolve().name
            source = Source(name=stem, content=content(files, machine), column=column)
            of_lines = path == mirrored and ALIASES.get(name, "").partition(":")[0] in _OF_LINES
            return Located(source=source, origin="files", files=files, lines=of_lines)
    alias, at, revision = name.partition("@")
    reference = Reference.parse(f"{ALIASES.get(alias, alias)}{at}{revision}")
    if reference is not None and _suffix(Path(reference.repository)) is None:
        found = hub.dataset(reference, machine.cache, f"corpus '{name}'", LOCAL)
        source = Source(name=reference.name, content=found.content(["train"]), column=column)
        return Located(source=source, origin="hub", dataset=found, lines=reference.repository in _OF_LINES)
    if "/" in name or _suffix(Path(name)) is not None:
        raise BadInput(f"corpus '{name}' does not exist: give a file, a folder or a name")
    mirror = [path.name for path in machine.data.iterdir()] if machine.data else []
    raise unknown("corpus", name, ["microworld", *ALIASES, *mirror])


def documents(located: Located) -> Iterator[str]:
    """The documents of a source that are not blank, in order.

    Raises `BadInput` with the file and the line or byte of what cannot be read.
    """
    if located.origin == "microworld":
        from bertlab import synthetic as microworld

        texts: Iterable[str] = microworld.documents()
    elif located.origin == "hub":
        texts = _from_hub(located)
    else:
        texts = (text for path in located.files for text in _from_file(path, located.source.column))
    if located.lines:
        texts = articles(texts)
    for text in texts:
        stop_if_asked()
        if text and not text.isspace():
            yield text


def unchanged(located: Located) -> bool:
    """Whether the files of a source still have its content, by reading them again; True for other sources."""
    if located.origin != "files":
        return True
    return _combined([digest(path) for path in located.files]) == located.source.content


def articles(records: Iterable[str]) -> Iterator[str]:
    """Joins records that are single lines, as WikiText has them, to articles.

    An article begins with a ` = Title = ` line behind a blank one. A record of several lines is an article already.
    """
    lines: list[str] = []
    blank = True
    for record in records:
        line = record.strip()
        if "\n" in line or (blank and _TITLE.fullmatch(line)):
            if lines:
                yield "\n".join(lines)
            lines = []
        if "\n" in line:
            yield line
        else:
            lines.append(line)
        blank = not line
    if lines:
        yield "\n".join(lines)


def content(files: Iterable[Path], machine: Machine) -> str:
    """`sha256:...` of the content of `files`: the hash of a single file, or the hash of the hashes of several."""
    index = Index(machine.cache)
    digests = [index.digest(path) for path in files]
    index.save()
    return _combined(digests)


def _combined(digests: list[str]) -> str:
    if len(digests) > 1:
        digests = [hashlib.sha256("\n".join(digests).encode()).hexdigest()]
    return f"sha256:{digests[0]}"


def _suffix(path: Path) -> str | None:
    """The supported suffix of a file's name, `.gz` aside; None if it has none."""
    suffix = Path(path.name.removesuffix(".gz")).suffix
    return suffix if suffix in SUFFIXES else None


def _files(path: Path) -> tuple[Path, ...]:
    """The files of a path, in the order of their names."""
    supported = ", ".join(SUFFIXES)
    if kind(path, "corpus") == "file":
        if _suffix(path) is None:
            raise BadInput(f"corpus {path} is of no supported kind: give {supported}, or one of them gzipped (.gz)")
        return (path,)
    try:
        train = sorted(each for each in path.iterdir() if each.name.startswith(("train.", "train-")) and _usable(each))
        found = train or sorted(_below(path), key=lambda each: each.relative_to(path).parts)
    except OSError as error:
        raise unusable(error, "corpus") from None
    if not found:
        raise BadInput(f"corpus {path} has no file that can be read: put in {supported}, or one of them gzipped (.gz)")
    return tuple(found)


def _below(folder: Path) -> Iterator[Path]:
    """The usable files of a folder and its folders. Raises `OSError` for one that cannot be listed."""

    def stop(error: OSError) -> None:
        raise error

    for path, _, names in os.walk(folder, onerror=stop):
        yield from (Path(path, name) for name in names if _usable(Path(path, name)))


def _usable(path: Path) -> bool:
    return _suffix(path) is not None and not path.name.startswith(".") and kind(path, "corpus file") == "file"


def _from_file(path: Path, column: str) -> Iterator[str]:
    readers: dict[str | None, Callable[[Path, str], Iterator[str]]] = {
        ".txt": _from_txt,
        ".jsonl": _from_jsonl,
        ".parquet": _from_parquet,
    }
    try:
        yield from readers[_suffix(path)](path, column)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise BadInput(f"{path} is a damaged gzip file: fetch it again or unpack it yourself") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror or error}): check the file") from None


def _from_txt(path: Path, column: str) -> Iterator[str]:
    """The text of a file, in documents of at most `DOCUMENT` characters that are cut at blank lines."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    held, position = "", 0
    with unzipped(path, "file") as stream:
        while True:
            data = stream.read(1 << 20)
            pending = len(decoder.getstate()[0])
            try:
                held += decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                at = position - pending + error.start
                raise BadInput(f"{path} is not UTF-8 at byte {at:,}: save it as UTF-8") from None
            position += len(data)
            if not data:
                break
            *whole, held = cut(held, DOCUMENT) if held else ("",)
            yield from whole
    yield held


def _from_jsonl(path: Path, column: str) -> Iterator[str]:
    with unzipped(path, "file") as stream:
        for number, raw in enumerate(stream, 1):
            if raw.isspace():
                continue
            where = f"{path}:{number}"
            try:
                record = json.loads(raw.decode("utf-8-sig"))
            except UnicodeDecodeError as error:
                raise BadInput(f"{where} is not UTF-8 at byte {error.start} of the line: save it as UTF-8") from None
            except (ValueError, RecursionError) as error:
                raise BadInput(f"{where} is not JSON ({error}): write one record a line") from None
            if not isinstance(record, dict):
                raise BadInput(f"{where} is not a JSON object: write one record with a column '{column}' a line")
            if column not in record:
                raise _no_column(where, column, record)
            yield _text(record[column], where, column)


def _from_parquet(path: Path, column: str) -> Iterator[str]:
    import pyarrow
    import pyarrow.parquet

    with unzipped(path, "file") as stream:
        file = BytesIO(stream.read()) if path.suffix == ".gz" else stream  # parquet is read in any order
        try:
            table = pyarrow.parquet.ParquetFile(file)
            if column not in table.schema_arrow.names:
                raise _no_column(str(path), column, table.schema_arrow.names)
            batches = table.iter_batches(batch_size=256, columns=[column])
            for row, value in enumerate(value for batch in batches for value in batch.column(0).to_pylist()):
                yield _text(value, f"{path}, row {row}", column)
        except pyarrow.ArrowInvalid as error:
            raise BadInput(f"{path} is not a parquet file that can be read ({error}): write it again") from None


def _no_column(where: str, column: str, names: Iterable[str]) -> BadInput:
    names = list(names)
    advice = str(unknown("column", column, names)).partition(": ")[2]
    return BadInput(f"{where} has no column '{column}' (it has {', '.join(names) or 'none'}): {advice}")


def _text(value: Any, where: str, column: str) -> str:
    """A value of the column of text; None, as parquet may have, is empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadInput(f"{where}: column '{column}' holds {type(value).__name__}, not text: give a column of strings")
    return value


def _from_hub(located: Located) -> Iterator[str]:
    """The documents of a data set of the Hub, in the order of its files. Raises `BadInput` if they cannot be read."""
    assert located.dataset is not None
    name, column, row = located.dataset.name, located.source.column, 0
    try:
        for batch in located.dataset.open("train", LOCAL).with_format("arrow").iter(256):
            if column not in batch.column_names:
                raise _no_column(name, column, batch.column_names)
            for value in batch.column(column).to_pylist():
                yield _text(value, f"{name}, row {row}", column)
                row += 1
    except (BadInput, GeneratorExit):
        raise
    except Exception as error:  # the library raises what its readers raise
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise BadInput(f"corpus '{name}' cannot be read from the Hub at row {row} ({reason})") from error
