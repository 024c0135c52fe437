"""Reads, hashes and writes files; writes them whole or not at all.

`kind`, `opened` and `content` check paths that a user gave: anything but a regular file or a folder is an error.
"""

import gzip
import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, Literal, cast

from bertlab.errors import BadInput, unusable, writing
from bertlab.recipe.identity import canonical
from bertlab.store.forms import misfit


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


def opened(path: Path, what: str) -> BufferedReader:
    """Opens a regular file; `what` names it in errors. Never blocks, as opening a pipe would. Raises `BadInput`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise _irregular(path, what)
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


def _irregular(path: Path, what: str) -> BadInput:
    return BadInput(f"{what} '{path}' is not a regular file: give a file, not a folder, pipe, device or socket")


def write(path: Path, content: str | bytes) -> None:
    """Writes a file under another name, syncs it and renames it, so that it is whole or absent. Raises `Unwritable`."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with writing(path.parent):
        sweep(path)
        try:
            with beside.open("wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        sync(path.parent)


def sweep(path: Path) -> None:
    """Removes partial copies of a file or directory that killed processes left."""
    left = re.compile(re.escape(f".{path.name}.") + r"(\d+)\.part")
    for each in path.parent.iterdir() if path.parent.is_dir() else ():
        found = left.fullmatch(each.name)
        if found and not Path(f"/proc/{found[1]}").exists() and time.time() - each.lstat().st_mtime > 2:
            shutil.rmtree(each) if each.is_dir() else each.unlink(missing_ok=True)


def write_json(path: Path, data: Any) -> None:
    """Writes `data` as JSON, whole or not at all; in ASCII, which can represent any name of a file or in data."""
    write(path, json.dumps(data, indent=1) + "\n")


def write_sealed(path: Path, record: Mapping[str, Any]) -> None:
    """Writes a record with its own SHA-256, for a file that no manifest lists."""
    write_json(path, {**record, "sha256": _seal(record)})


def read_sealed(path: Path, form: Any = dict) -> dict[str, Any]:
    """Reads what `write_sealed` wrote. Raises `BadInput` if the file changed since, or has another form."""
    record: dict[str, Any] = read_json(path, form)
    if record.pop("sha256", "") not in ("", _seal(record)):
        raise _damaged(path, "its seal is broken")
    return record


def _seal(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(record).encode(errors="surrogatepass")).hexdigest()


def read_json(path: Path, form: Any = object) -> Any:
    """The data of a JSON file of the store.

    Raises `BadInput` if the file is damaged or has another form (see `forms`), `Unusable` if the system denies access.
    """
    try:
        data = json.loads(content(path, "file"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadInput):
            raise
        raise _damaged(path, "nested too deep" if isinstance(error, RecursionError) else str(error)) from None
    if misfit(data, form) is not None:
        raise _damaged(path, "bertlab writes another form")
    return data


def _damaged(path: Path, why: str) -> BadInput:
    return BadInput(f"'{path}' is damaged ({why}): give the command that wrote it again, or remove it")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON-lines file, up to the first line that is damaged or incomplete."""
    records = []
    for line in content(path, "file").splitlines() if path.exists() else ():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not isinstance(record, dict):
            break
        records.append(record)
    return records


def append_line(path: Path, record: dict[str, Any]) -> None:
    """Appends a record to a JSON-lines file. Raises `Unwritable`."""
    with writing(path.parent), path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def sync(path: Path) -> None:
    """Syncs the content of a file, or the names in a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def digest(path: Path, first: int | None = None) -> str:
    """The SHA-256 of a file, or of its `first` bytes."""
    with opened(path, "file") as file:
        if first is not None:
            return hashlib.sha256(file.read(first)).hexdigest()
        return hashlib.file_digest(file, "sha256").hexdigest()
