"""Where text comes from: local files, the Hugging Face Hub, the embedded microworld. A source gives documents.

Local files are `.txt`, `.jsonl` and `.parquet`, each also gzipped (`.gz`). A record of a `.jsonl` or `.parquet` file
is one document, its `text` column; a `.txt` file is one document, or, beyond a million characters, several that are
cut at blank lines. Of a folder, the files of its training split are read if it has any (`train.jsonl`,
`train-00000-of-00002.parquet`), else all that are supported, in the order of their names.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import json
import re
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast

from bertlab.errors import BadInput, unknown
from bertlab.machine import Machine
from bertlab.progress import stop_if_asked
from bertlab.recipe import Source
from bertlab.text.sentences import cut

ALIASES = {
    "wikitext-103": "Salesforce/wikitext:wikitext-103-raw-v1",
    "wikipedia": "wikimedia/wikipedia:20231101.en",
}
"""Short names of data sets of the Hub."""
SUFFIXES = (".txt", ".jsonl", ".parquet")
DOCUMENT = 1_000_000
"""Characters of the longest document that is made of a `.txt` file."""

_OF_LINES = ("Salesforce/wikitext",)
"""Data sets whose rows are lines of articles."""
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+(:[\w.-]+)?")
_TITLE = re.compile(r"= (?!= )(.+) =")


@dataclass(frozen=True)
class Located:
    """A source of documents and where it lies on this machine."""

    source: Source
    """What it is: this part enters ids."""
    origin: Literal["microworld", "files", "hub"]
    files: tuple[Path, ...] = ()
    hub: str = ""
    """`owner/name[:config]` on the Hub, or a folder in the Hub's layout."""
    lines: bool = False
    """Rows are lines, to be joined to articles at ` = Title = ` lines."""


def resolve(name: str, *, machine: Machine, column: str = "text") -> Located:
    """Finds the source called `name`: `microworld`, a path, a folder of the mirror `machine.data`, or on the Hub.

    Reads local files once for their content id, and asks the Hub for the commit. `BadInput` if there is no such
    source, or no usable file in it.
    """
    if name == "microworld":
        from bertlab.text import microworld

        source = Source(name=name, content=f"microworld:{microworld.VERSION}")
        return Located(source=source, origin="microworld")
    mirrored = machine.data / name if machine.data and name and not Path(name).is_absolute() else None
    for path in (Path(name).expanduser(), mirrored):
        if name and path is not None and path.exists():
            files = _files(path)
            stem = path.resolve().name
            source = Source(name=stem, content=content(files, machine), column=column)
            of_lines = path == mirrored and ALIASES.get(name, "").partition(":")[0] in _OF_LINES
            return Located(source=source, origin="files", files=files, lines=of_lines)
    hub = ALIASES.get(name, name)
    if _HUB_NAME.fullmatch(hub) and not hub.startswith(".") and _suffix(Path(hub)) is None:
        source = Source(name=hub, content=f"hub:{_commit(hub.partition(':')[0], machine)}", column=column)
        return Located(source=source, origin="hub", hub=hub, lines=hub.partition(":")[0] in _OF_LINES)
    if "/" in name or _suffix(Path(name)) is not None:
        raise BadInput(f"corpus '{name}' does not exist: give a file, a folder or a name")
    mirror = [path.name for path in machine.data.iterdir()] if machine.data else []
    raise unknown("corpus", name, ["microworld", *ALIASES, *mirror])


def documents(located: Located) -> Iterator[str]:
    """The documents of a source, in order; blank ones are left out.

    `BadInput` names the file and the line or byte of what cannot be read.
    """
    if located.origin == "microworld":
        from bertlab.text import microworld

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
    """Whether the files of a source hold what its content says, by reading them again; what is no file does."""
    if located.origin != "files":
        return True
    digests = []
    for path in located.files:
        with path.open("rb") as stream:
            digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
    return _combined(digests) == located.source.content


def articles(rows: Iterable[str]) -> Iterator[str]:
    """Articles out of rows that are single lines, as WikiText has them: a ` = Title = ` line opens one.

    A title stands behind a blank row. A row of several lines is an article already.
    """
    lines: list[str] = []
    blank = True
    for row in rows:
        line = row.strip()
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
    """`sha256:...` of what is in `files`: of one file its own hash, of several the hash of their hashes in order."""
    index = _Index(machine.cache / "hashes.json")
    digests = [index.digest(path) for path in files]
    index.save()
    return _combined(digests)


def _combined(digests: list[str]) -> str:
    if len(digests) > 1:
        digests = [hashlib.sha256("\n".join(digests).encode()).hexdigest()]
    return f"sha256:{digests[0]}"


class _Index:
    """Hashes of files by path, size and time of change, and commits by name. It can be thrown away at any time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changed = False
        try:
            entries = json.loads(path.read_bytes())
        except (OSError, ValueError):
            entries = None
        self.entries: dict[str, Any] = entries if isinstance(entries, dict) else {}

    def digest(self, path: Path) -> str:
        """The SHA-256 of a file, from memory if neither its size nor its time has changed."""
        try:
            found = path.stat()
            state = [found.st_size, found.st_mtime_ns]
            known = self.entries.get(str(path.resolve()))
            if isinstance(known, list) and len(known) == 3 and known[:2] == state:
                return str(known[2])
            with path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise BadInput(f"{path} cannot be read ({error.strerror}): check the file and its permissions") from None
        if time.time_ns() - found.st_mtime_ns > 2e9:  # a file just written may change again within its time's grain
            self.remember(str(path.resolve()), [*state, digest])
        return digest

    def remember(self, name: str, value: Any) -> None:
        if self.entries.get(name) != value:
            self.entries[name] = value
            self._changed = True

    def save(self) -> None:
        if not self._changed:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._path.parent, encoding="utf-8", delete=False) as stream:
                json.dump(self.entries, stream)
            Path(stream.name).replace(self._path)
        except OSError:
            pass  # the next run reads the files again


def _suffix(path: Path) -> str | None:
    """The supported suffix of a file's name, `.gz` aside; None if it has none."""
    suffix = Path(path.name.removesuffix(".gz")).suffix
    return suffix if suffix in SUFFIXES else None


def _files(path: Path) -> tuple[Path, ...]:
    """The files that a path stands for, in the order of their names."""
    supported = ", ".join(SUFFIXES)
    if path.is_file():
        if _suffix(path) is None:
            raise BadInput(f"corpus {path} is of no supported kind: give {supported}, or one of them gzipped (.gz)")
        return (path,)
    if not path.is_dir():
        raise BadInput(f"corpus {path} is neither a file nor a folder: give one of them")
    try:
        train = sorted(each for each in path.iterdir() if each.name.startswith(("train.", "train-")) and _usable(each))
        found = train or sorted(
            (each for each in path.rglob("*") if _usable(each)), key=lambda each: each.relative_to(path).parts
        )
    except OSError as error:
        raise BadInput(f"corpus {path} cannot be listed ({error.strerror}): check its permissions") from None
    if not found:
        raise BadInput(f"corpus {path} has no file that can be read: put in {supported}, or one of them gzipped (.gz)")
    return tuple(found)


def _usable(path: Path) -> bool:
    return _suffix(path) is not None and not path.name.startswith(".") and path.is_file()


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


def _open(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _from_txt(path: Path, column: str) -> Iterator[str]:
    """The text of a file, in documents of at most `DOCUMENT` characters that are cut at blank lines."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    held, position = "", 0
    with _open(path) as stream:
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
    with _open(path) as stream:
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

    with _seekable(path) as file:
        try:
            table = pyarrow.parquet.ParquetFile(file)
            if column not in table.schema_arrow.names:
                raise _no_column(str(path), column, table.schema_arrow.names)
            row = 0
            for batch in table.iter_batches(batch_size=256, columns=[column]):
                for value in batch.column(0).to_pylist():
                    yield _text(value, f"{path}, row {row}", column)
                    row += 1
        except pyarrow.ArrowInvalid as error:
            raise BadInput(f"{path} is not a parquet file that can be read ({error}): write it again") from None


@contextmanager
def _seekable(path: Path) -> Iterator[IO[bytes]]:
    """A file that can be read from any place: what is gzipped is unpacked to a temporary file."""
    with _open(path) as stream:
        if path.suffix != ".gz":
            yield stream
            return
        with tempfile.TemporaryFile() as unpacked:
            shutil.copyfileobj(stream, unpacked, 1 << 20)
            unpacked.seek(0)
            yield unpacked


def _no_column(where: str, column: str, names: Iterable[str]) -> BadInput:
    names = list(names)
    advice = str(unknown("column", column, names)).partition(": ")[2]
    return BadInput(f"{where} has no column '{column}' (it has {', '.join(names) or 'none'}): {advice}")


def _text(value: Any, where: str, column: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadInput(f"{where}: column '{column}' holds {type(value).__name__}, not text: give a column of strings")
    return value


def _commit(repository: str, machine: Machine) -> str:
    """The commit of a data set on the Hub; the last one known if the Hub cannot be reached."""
    import huggingface_hub
    from huggingface_hub.errors import RepositoryNotFoundError

    index = _Index(machine.cache / "hashes.json")
    key = f"hub:{repository}"
    try:
        commit = huggingface_hub.HfApi().dataset_info(repository, timeout=20).sha
    except RepositoryNotFoundError:
        raise BadInput(
            f"corpus '{repository}' is no file, no folder of the mirror and no data set on the Hugging Face Hub: "
            "check its spelling (a private one needs HF_TOKEN)"
        ) from None
    except Exception as error:  # whatever the network brings
        if isinstance(index.entries.get(key), str):
            return str(index.entries[key])
        raise BadInput(
            f"the Hugging Face Hub cannot be asked for '{repository}' ({type(error).__name__}): "
            "connect, or give local files"
        ) from None
    index.remember(key, commit)
    index.save()
    return str(commit)


def _from_hub(located: Located) -> Iterator[str]:
    import datasets

    name, _, configuration = located.hub.partition(":")
    kind, _, commit = located.source.content.partition(":")
    column = located.source.column
    row = 0
    try:
        rows = datasets.load_dataset(
            name,
            configuration or None,
            split="train",
            streaming=True,
            revision=commit if kind == "hub" and commit else None,
        )
        for record in rows:
            if column not in record:
                raise _no_column(located.hub, column, record)
            yield _text(record[column], f"{located.hub}, row {row}", column)
            row += 1
    except BadInput:
        raise
    except Exception as error:  # the library raises what its readers raise
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise BadInput(f"corpus '{located.hub}' cannot be read from the Hub at row {row} ({reason})") from error
