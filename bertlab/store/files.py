"""Reads and hashes files.

`kind`, `opened` and `content` check paths that a user gave: anything but a regular file or a folder is an error.
"""

import gzip
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, Literal, TypeVar, cast

from bertlab.errors import BadInput, unusable
from bertlab.store.schema import Mismatch, load, unsound

T = TypeVar("T")


def expanded(text: str | Path, what: str) -> Path:
    """A path that a user wrote, with `~` and `~name` replaced. Raises `BadInput` for an unknown user."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise BadInput(f"{what} '{text}' names a user that this machine does not know: write the whole path") from None


def kind(path: Path, what: str) -> Literal["file", "folder"] | None:
    """Whether a path that a user gave as `what` is a file or a folder; None if it does not exist.

    Raises `BadInput` for pipes, devices and sockets, for a link to nothing or to itself, and where the system denies
    access (no permission, too long a name).
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        if path.is_symlink():
            raise BadInput(f"{what} '{path}' is a link to nothing: repair it, or name another") from error
        return None
    except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
        raise unusable(error if isinstance(error, OSError) else OSError(0, str(error)), what, path) from error
    if stat.S_ISDIR(mode):
        return "folder"
    if not stat.S_ISREG(mode):
        raise BadInput(f"{what} '{path}' is neither a file nor a folder, but a pipe, device or socket: name another")
    return "file"


def real(path: Path) -> Path:
    """A path without links. Raises nothing: `kind` refuses links in a circle and names with a null byte."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return path


def opened(path: Path, what: str) -> BufferedReader:
    """Opens a regular file; `what` names it in errors. Never blocks, as opening a pipe would. Raises `BadInput`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise BadInput(f"{what} '{path}' is not a regular file: give a file, not a folder, pipe, device or socket")
        return open(descriptor, "rb")
    except OSError as error:
        raise unusable(error, what, path) from error


def unzipped(path: Path, what: str) -> IO[bytes]:
    """Opens a regular file as `opened` does, and decompresses it if its name ends with `.gz`."""
    stream = opened(path, what)
    if path.suffix != ".gz":
        return stream
    unpacked = gzip.GzipFile(fileobj=stream)
    unpacked.myfileobj = cast(Any, stream)  # closes the file with the stream
    return cast(IO[bytes], unpacked)


def content(path: Path, what: str) -> bytes:
    """The bytes of a regular file. Raises `BadInput`."""
    with opened(path, what) as file:
        try:
            return file.read()
        except OSError as error:
            raise unusable(error, what, path) from error


def read_sealed(path: Path, data: bytes | None = None) -> dict[str, Any]:
    """Reads what `writes.write_sealed` wrote; `data` is as in `read_json`. Raises `BadInput` if it changed since."""
    record = read_json(path, dict[str, Any], data)
    expected = record.pop("sha256", "")
    if expected and expected != seal(record):
        raise _damaged(path, "its seal is broken")
    return record


def seal(record: Mapping[str, Any]) -> str:
    """The SHA-256 of a record as a JSON file gives it: of its canonical JSON."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def read_json(path: Path, form: type[T], data: bytes | None = None) -> T:
    """The content of a JSON file of the store; `data` are its bytes, where it is no file of its own.

    Raises `BadInput` if the file is damaged, has another form (see `schema`), is nested deeper than any that bertlab
    writes, or has a number that is not finite or immense; `Unusable` if the system denies access.
    """
    try:
        parsed = json.loads(content(path, "file") if data is None else data)
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadInput):
            raise
        raise _damaged(path, "nested too deep" if isinstance(error, RecursionError) else str(error)) from None
    if (flaw := unsound(parsed)) is not None:
        raise _damaged(path, flaw)
    return of_form(path, form, parsed)


def of_form(path: Path, form: type[T], data: Any) -> T:
    """Data of a JSON file as a value of their form. Raises `BadInput` if they have another form."""
    try:
        return load(form, data)
    except Mismatch as mismatch:
        flaw = f"its {mismatch.where} is missing, of another type or out of range"
        raise _damaged(path, flaw if mismatch.where else "bertlab writes another form") from None


def _damaged(path: Path, why: str) -> BadInput:
    return BadInput(f"'{path}' is damaged ({why}): give the command that wrote it again, or remove it")


def read_lines(data: bytes, form: type[T]) -> list[T]:
    """The records in JSON lines, up to the first line that is damaged, incomplete or of another form.

    A number that is not finite is None.
    """
    records = []
    for line in data.splitlines():
        try:
            record = json.loads(line, parse_constant=lambda name: None)
            if unsound(record) is not None:
                break
            records.append(load(form, record))
        except (ValueError, RecursionError):
            break
    return records


def digest(path: Path, first: int | None = None) -> str:
    """The SHA-256 of a file, or of its `first` bytes."""
    with opened(path, "file") as file:
        if first is not None:
            return hashlib.sha256(file.read(first)).hexdigest()
        return hashlib.file_digest(file, "sha256").hexdigest()
