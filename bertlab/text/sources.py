"""Sources of documents: local files, data sets of the Hugging Face Hub, the synthetic microworld.

A row of `.jsonl` or `.parquet` is one document, its `text` column; a `.txt` file is one, or several if it is long. A
folder stands for the files of its training split if it has any (`train.jsonl`, `train-00000-of-00002.parquet`), else
for all supported files, in the order of their names.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Literal

from bertlab import hub
from bertlab.errors import BadInput, suggestion, unknown, unusable
from bertlab.hub import Dataset, Index, Reference
from bertlab.machine import Machine
from bertlab.names import shown
from bertlab.progress import stop_if_asked
from bertlab.recipe import Source
from bertlab.store.files import digest, expanded, kind
from bertlab.text import rows
from bertlab.text.sentences import cut

ALIASES = {"wikitext-103": "Salesforce/wikitext:wikitext-103-raw-v1", "wikipedia": "wikimedia/wikipedia:20231101.en"}
"""Short names of data sets of the Hub; each can be followed by `@revision`."""
SUFFIXES = (".txt", ".txt.gz", ".jsonl", ".jsonl.gz", ".parquet")
DOCUMENT = 1_000_000
"""Characters of the longest document of a `.txt` file."""

_OF_LINES = ("Salesforce/wikitext",)
"""Data sets whose records are single lines of articles."""
LOCAL = "give local files"
"""What to do without the Hub."""
_MICROWORLD = re.compile(r"microworld(?::([1-9][0-9]{0,6}))?")
_TITLE = re.compile(r"= (?!= )(.+) =")


@dataclass(frozen=True)
class Located:
    """A source of documents and its place on this machine."""

    source: Source
    """Its name and content, which ids depend on."""
    origin: Literal["microworld", "files", "hub"]
    files: tuple[Path, ...] = ()
    dataset: Dataset | None = None
    count: int = 0
    """The number of synthetic documents."""


def resolve(name: str, *, machine: Machine, column: str = "text") -> Located:
    """Finds the source called `name`: `microworld`, a path, a folder of the mirror `machine.data`, or on the Hub.

    `microworld:2000` is 2,000 documents of the synthetic text. Hashes local files, and fetches the hashes of those of
    the Hub, where `name@revision` is an earlier state. Raises `BadInput` if there is no such source, or if it has no
    usable file.
    """
    if made := _MICROWORLD.fullmatch(name):
        from bertlab import synthetic as microworld

        count = int(made[1] or microworld.DOCUMENTS)
        source = Source(name="microworld", content=f"microworld:{microworld.VERSION}")
        if count != microworld.DOCUMENTS:
            source = Source(name=name, content=f"{source.content}/{count}")
        return Located(source=source, origin="microworld", count=count)
    mirrored = machine.data / name if machine.data and name and not Path(name).is_absolute() else None
    for path in (expanded(name, "corpus"), mirrored):
        if name and path is not None and kind(path, "corpus"):
            files = _files(path)
            stem = path.resolve().name
            lines = any(ALIASES.get(each, "").partition(":")[0] in _OF_LINES for each in (name, stem))
            source = Source(name=stem, content=content(files, machine), column=column, lines=lines)
            return Located(source=source, origin="files", files=files)
    alias, at, revision = name.partition("@")
    reference = Reference.parse(f"{ALIASES.get(alias, alias)}{at}{revision}")
    if reference is not None and not reference.repository.endswith(SUFFIXES):
        found = hub.dataset(reference, machine.cache, f"corpus '{name}'", LOCAL)
        lines = reference.repository in _OF_LINES
        source = Source(name=reference.name, content=found.content(["train"]), column=column, lines=lines)
        return Located(source=source, origin="hub", dataset=found)
    if "/" in name or name.endswith(SUFFIXES):
        raise BadInput(f"corpus '{name}' does not exist: give a file, a folder or a name")
    mirror = [path.name for path in machine.data.iterdir()] if machine.data else []
    wrong = str(unknown("corpus", name, ["microworld", *ALIASES, *mirror]))
    raise BadInput(wrong if wrong.endswith("?") else f"{wrong}, or give a file, a folder or owner/name of the Hub")


def documents(located: Located) -> Iterator[str]:
    """The documents of a source that are not blank, in order. Raises `BadInput` that names what cannot be read."""
    if located.origin == "microworld":
        from bertlab import synthetic as microworld

        texts: Iterable[str] = microworld.documents(located.count)
    elif located.origin == "hub":
        texts = _from_hub(located)
    else:
        texts = (text for path in located.files for text in _from_file(path, located.source.column))
    if located.source.lines:
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


def _files(path: Path) -> tuple[Path, ...]:
    """The files of a path, in the order of their names."""
    supported = ", ".join(SUFFIXES)
    if kind(path, "corpus") == "file":
        if not path.name.endswith(SUFFIXES):
            raise BadInput(f"corpus {path} is of no supported kind: give {supported}")
        return (path,)
    try:
        train = sorted(each for each in path.iterdir() if each.name.startswith(("train.", "train-")) and _usable(each))
        found = train or sorted(each for each in _below(path) if _usable(each))
    except OSError as error:
        raise unusable(error, "corpus") from None
    if not found:
        raise BadInput(f"corpus {path} has no file that can be read: add files that end in {supported}")
    return tuple(found)


def _below(folder: Path) -> Iterator[Path]:
    """All below a folder. Raises `OSError` for a folder that cannot be listed, which `rglob` leaves out."""
    for each in folder.iterdir():
        yield each
        if each.is_dir() and not each.is_symlink():
            yield from _below(each)


def _usable(path: Path) -> bool:
    return path.name.endswith(SUFFIXES) and not path.name.startswith(".") and kind(path, "corpus file") == "file"


def _from_file(path: Path, column: str) -> Iterator[str]:
    """The documents of a file; those of a `.txt` are cut at blank lines, to at most `DOCUMENT` characters."""
    if not path.name.endswith((".txt", ".txt.gz")):
        for number, row in enumerate(rows.read(path, column), start=1):
            yield _text(row, f"{path}, record {number}", column)
        return
    held = ""
    with rows.opened(path) as stream, TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
        while data := text.read(DOCUMENT):
            *whole, held = cut(held + data, DOCUMENT)
            yield from whole
    yield held


def _text(row: Mapping[str, Any], where: str, column: str) -> str:
    """The column of text in a row; None, as Parquet may have, is empty."""
    if column not in row:
        advice = suggestion(column, row)
        if column == "text" and advice.startswith("choose"):  # the command line cannot choose another
            advice = "name the column of the text so"
        raise BadInput(f"{where} has no column '{column}' (it has {', '.join(row) or 'none'}): {advice}")
    value = row[column]
    if value is not None and not isinstance(value, str):
        raise BadInput(f"{where}: column '{column}' is {shown(value)}: give a column of texts")
    return value or ""


def _from_hub(located: Located) -> Iterator[str]:
    """The documents of a data set of the Hub, in the order of its files. Raises `BadInput` if they cannot be read."""
    assert located.dataset is not None
    name, column, number = located.dataset.name, located.source.column, 0
    try:
        for batch in located.dataset.open("train", LOCAL).with_format("arrow").iter(256):
            texts = batch.select([column]) if column in batch.column_names else batch
            for row in texts.to_pylist():
                number += 1
                yield _text(row, f"{name}, record {number}", column)
    except (BadInput, GeneratorExit):
        raise
    except Exception as error:  # the library raises what its readers raise
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise BadInput(f"corpus '{name}' cannot be read from the Hub after record {number} ({reason})") from error
