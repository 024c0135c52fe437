"""Sources of documents: local files, data sets of the Hugging Face Hub, the synthetic microworld.

`boundaries` says what a document is: by default a row of `.jsonl` or `.parquet`, its `text` column, or a text file. A
folder stands for the files of its training split (`splits`), or of that of its card, in the order of their names.
"""

import hashlib
import itertools
import re
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bertlab import hub, splits
from bertlab.errors import BadInput, first_line, suggestion, unknown, unusable
from bertlab.hub import Dataset, Index, Reference
from bertlab.machine import Machine
from bertlab.names import shown
from bertlab.progress import stop_if_asked
from bertlab.recipe import Source
from bertlab.store.files import digest, expanded, kind
from bertlab.text import boundaries, rows

WIKITEXT = "Salesforce/wikitext"
ALIASES = {"wikitext-103": f"{WIKITEXT}:wikitext-103-raw-v1", "wikipedia": "wikimedia/wikipedia:20231101.en"}
"""Short names of data sets of the Hub; each can be followed by `@revision`."""
_TEXT = (".txt", ".raw", ".tokens", ".train", ".dev", ".valid", ".test")
"""Ends of the names of text files; WikiText's are `wiki.train.tokens`, BabyLM's `childes.train`."""
_ENDS = (".txt", ".jsonl", ".parquet", ".raw", ".tokens")
"""Ends of names that name no split."""
SUFFIXES = (*_TEXT, ".txt.gz", ".jsonl", ".jsonl.gz", ".parquet", *rows.WET)
_FILE = re.compile(
    rf"(.*)({'|'.join(map(re.escape, (*_TEXT, '.jsonl', '.parquet', '.wet')))})(\.(?:gz|bz2|xz|zst|lz4|zip|7z))?",
    re.IGNORECASE,
)
"""A path to text by its name, perhaps packed in a way that is not read, or in capitals."""
_ABOUT = re.compile(r"(.*/)?(readme|licen[cs]e|vocab)\.txt", re.IGNORECASE)
"""A path to what is said of a text, or made of it."""

_OF_LINES = (WIKITEXT,)
"""Data sets whose records are single lines of articles."""
LOCAL = "give local files"
"""What to do without the Hub."""
_MICROWORLD = re.compile(r"microworld(-pages)?(?::([1-9][0-9]{0,6}))?")


@dataclass(frozen=True)
class Located:
    """A source of documents and its place on this machine."""

    source: Source
    """The name and the content, which ids depend on."""
    origin: Literal["microworld", "files", "hub"]
    files: tuple[Path, ...] = ()
    left: tuple[Path, ...] = ()
    """Files of the same folder that could be read, and are of other splits or about the text."""
    folder: Path = Path()
    """The folder of the files."""
    dataset: Dataset | None = None
    count: int = 0
    """The number of synthetic documents."""
    pages: bool = False
    """Whether these are pages as of the web, for a filter."""


def resolve(name: str, *, machine: Machine, column: str = "text") -> Located:
    """Finds the source called `name`: `microworld`, a path, a folder of the mirror `machine.data`, or on the Hub.

    `microworld:2000` is 2,000 documents of the synthetic text, `microworld-pages` has it as pages with noise. Hashes
    local files, and fetches the hashes of those of the Hub, where `name@revision` is an earlier state. Raises
    `BadInput` if there is no such source, or if it has no usable file.
    """
    if match := _MICROWORLD.fullmatch(name):
        from bertlab import synthetic as microworld

        pages, count = bool(match[1]), int(match[2] or microworld.DOCUMENTS)
        content = f"microworld:{microworld.VERSION}" + "/pages" * pages
        content += f"/{count}" if count != microworld.DOCUMENTS else ""
        called = name.removesuffix(f":{microworld.DOCUMENTS}")
        return Located(Source(name=called, content=content), "microworld", count=count, pages=pages)
    mirrored = machine.data / name if machine.data and name and not Path(name).is_absolute() else None
    for path in (expanded(name, "corpus"), mirrored):
        if name and path is not None and (located := _local(path, name, column, machine)):
            return located
    alias, at, revision = name.partition("@")
    reference = Reference.parse(f"{ALIASES.get(alias, alias)}{at}{revision}")
    if reference is not None and not reference.repository.endswith(SUFFIXES):
        dataset = hub.dataset(reference, machine.cache, f"corpus '{name}'", LOCAL).as_text()
        lines = reference.repository in _OF_LINES
        source = Source(name=reference.name, content=dataset.content(["train"]), column=column, lines=lines)
        return Located(source=source, origin="hub", dataset=dataset)
    if "/" in name or name.endswith(SUFFIXES):
        raise BadInput(f"corpus '{name}' does not exist: give a file, a folder or a name")
    mirror = [path.name for path in machine.data.iterdir()] if machine.data else []
    wrong = str(unknown("corpus", name, ["microworld", *ALIASES, *mirror]))
    raise BadInput(wrong if wrong.endswith("?") else f"{wrong}, or give a file, a folder or owner/name of the Hub")


def _local(path: Path, name: str, column: str, machine: Machine) -> Located | None:
    """The source in a file or a folder, or in the configuration of a folder's card that follows a colon, if it exists.

    Raises `BadInput` if it has no usable file.
    """
    configuration = ""
    if not kind(path, "corpus"):
        above, _, configuration = path.name.rpartition(":")
        path = path.with_name(above or path.name)
        if not (above and configuration and kind(path, "corpus") == "folder" and hub.has_card(path)):
            return None
    files, left = _files(path, configuration)
    stem = path.resolve().name
    lines = any(ALIASES.get(suffix, "").partition(":")[0] in _OF_LINES for suffix in (name, stem))
    called = f"{stem}:{configuration}" if configuration else stem
    source = Source(name=called, content=content(files, machine), column=column, lines=lines)
    folder = path.parent if path in files else path
    return Located(source=source, origin="files", files=files, left=left, folder=folder)


def documents(located: Located, unit: str = "by-type") -> Iterator[str]:
    """The documents of a source that are not blank, in order; `unit` is the `corpus.documents` of a recipe.

    Raises `BadInput` that names what cannot be read, and for records or files that are no documents of this unit.
    """
    unit = "article" if unit == "by-type" and located.source.lines else unit
    for text in _documents(located, unit):
        stop_if_asked()
        if text and not text.isspace():
            yield text


def _documents(located: Located, unit: str) -> Iterator[str]:
    if located.origin == "microworld":
        from bertlab import synthetic as microworld

        yield from (microworld.pages if located.pages else microworld.documents)(located.count)
        return
    name, column = located.source.name, located.source.column
    if located.dataset is not None and located.dataset.reader != "text":
        _require(unit != "file", name, unit, "records", "record")
        yield from boundaries.of_records(_from_hub(located.dataset, column), unit)
        return
    files: Iterable[Path] = located.files
    if located.dataset is not None:
        if unit == "by-type":
            raise BadInput(
                f"corpus '{name}' has text files on the Hub: say what a document is, as in --set "
                "corpus.documents=line (or file, blank-line, article, babylm)"
            )
        files = located.dataset.fetch("train", LOCAL)
    for of_text, group in itertools.groupby(files, is_text):
        if of_text:
            _require(unit != "record", name, unit, "text files", "file, line, blank-line, article or babylm")
            for path in group:
                with rows.opened(path) as stream:
                    yield from boundaries.of_text(stream, unit)
        else:
            _require(unit != "file", name, unit, "records", "record")
            records = (
                _text(row, f"{path}, record {number}", column)
                for path in group
                for number, row in enumerate(rows.read(path, column), start=1)
            )
            yield from boundaries.of_records(records, unit)


def _require(fits: bool, name: str, unit: str, holds: str, units: str) -> None:
    if not fits:
        raise BadInput(
            f"corpus.documents is {unit}, and corpus '{name}' has {holds}: set it to {units}, or leave it out, which "
            "makes a document of each text file and of each record"
        )


def unchanged(located: Located) -> bool:
    """Whether the files of a source still have its content, by reading them again; True for other sources."""
    if located.origin != "files":
        return True
    return _combined([digest(path) for path in located.files]) == located.source.content


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


def _files(path: Path, configuration: str = "") -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """The files of a path to train on, in the order of their names, and the others that could be read."""
    supported = ", ".join(SUFFIXES)
    if kind(path, "corpus") == "file":
        if not path.name.endswith(SUFFIXES):
            raise BadInput(f"corpus {path} is of no supported kind: give {supported}")
        return (path,), ()
    try:
        of_text = _of_text(path)
    except OSError as error:
        raise unusable(error, "corpus") from None
    if not of_text:
        raise BadInput(f"corpus {path} has no file that can be read: add files that end in {supported}")
    try:
        of_card = hub.training_of_card(path, configuration) if hub.has_card(path) else None
        texts = [name for name in of_text if not _ABOUT.fullmatch(name)] or [*of_text]
        chosen = set(splits.training(texts, _ENDS) if of_card is None else of_card)
    except BadInput as error:
        raise BadInput(f"corpus {path} {error}") from None
    files = tuple(file for name, file in of_text.items() if name in chosen)
    if not files:
        advice = f"add files that end in {supported}"
        raise BadInput(f"corpus {path} has a card whose training files cannot be read: {advice}")
    for name in chosen & of_text.keys():
        if not (unread := of_text[name]).name.endswith(SUFFIXES):
            raise BadInput(f"corpus {path} has {unread.relative_to(path)}, which is not read: give it as {name}")
    left = (file for name, file in of_text.items() if name not in chosen)
    return files, tuple(file for file in left if file.name.endswith(SUFFIXES))


def _of_text(folder: Path) -> dict[str, Path]:
    """The files of text below a folder by their relative paths, those that cannot be read as they are by the paths that
    they should have. A packed file beside the same one unpacked is left out."""
    below = {file.relative_to(folder).as_posix(): file for file in sorted(_below(folder)) if _holds_text(file)}
    of_text = {}
    for name, file in below.items():
        stem, end, packing = typing.cast(re.Match[str], _FILE.fullmatch(name)).groups()
        if not packing or stem + end not in below:
            of_text[name if name.endswith(SUFFIXES) else stem + end.lower()] = file
    return of_text


def _below(folder: Path) -> Iterator[Path]:
    """All below a folder, without hidden folders. Raises `OSError` for a folder that cannot be listed, which `rglob`
    leaves out."""
    for entry in folder.iterdir():
        yield entry
        if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith("."):
            yield from _below(entry)


def _holds_text(path: Path) -> bool:
    called = not path.name.startswith(".") and _FILE.fullmatch(path.name)
    return bool(called) and kind(path, "corpus file") == "file"


def is_text(path: Path) -> bool:
    """Whether a file is of text, not of records."""
    return path.name.endswith((*_TEXT, ".txt.gz"))


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


def _from_hub(dataset: Dataset, column: str) -> Iterator[str]:
    """The records of a data set of the Hub, in the order of its files. Raises `BadInput` if they cannot be read."""
    name, number = dataset.name, 0
    try:
        for batch in dataset.open("train", LOCAL).with_format("arrow").iter(256):
            texts = batch.select([column]) if column in batch.column_names else batch
            for row in texts.to_pylist():
                number += 1
                yield _text(row, f"{name}, record {number}", column)
    except (BadInput, GeneratorExit):
        raise
    except Exception as error:  # the library raises what its readers raise
        why = first_line(error)
        raise BadInput(f"corpus '{name}' cannot be read from the Hub after record {number} ({why})") from error
