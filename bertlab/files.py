"""Files that count: written whole or not at all, read with what vouches for them, hashed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput, writing
from bertlab.faults import point
from bertlab.identity import canonical


def write(path: Path, content: str | bytes) -> None:
    """Writes a file beside its place, syncs it and renames it: it is whole or not there. Raises `Unwritable`."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with writing(path.parent):
        point("write.begin")
        try:
            with beside.open("wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                point("write.sync")
                os.fsync(file.fileno())
            point("write.rename")
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        point("write.renamed")
        sync_directory(path.parent)
    point("write.done")


def write_json(path: Path, data: Any) -> None:
    """Writes `data` as JSON, whole or not at all; in ASCII, which holds any name that a file system or data gave."""
    write(path, json.dumps(data, indent=1) + "\n")


def write_sealed(path: Path, record: Mapping[str, Any]) -> None:
    """Writes a record with its own SHA-256, for a file that no manifest lists."""
    write_json(path, {**record, "sha256": _seal(record)})


def read_sealed(path: Path) -> dict[str, Any]:
    """What `write_sealed` wrote. Raises `BadInput` naming the file if that is not what it holds."""
    record = read_json(path)
    if not isinstance(record, dict) or record.pop("sha256", "") not in ("", _seal(record)):
        raise BadInput(f"'{path}' is damaged: give the command that wrote it again, or remove it")
    return record


def _seal(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(record).encode(errors="surrogatepass")).hexdigest()


def read_json(path: Path) -> Any:
    """The data of a JSON file of the store; `BadInput` naming the file if it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadInput(f"'{path}' is damaged ({error}): give the command that wrote it again, or remove it") from error


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON-lines file; a last line that was cut short is left out."""
    records = []
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            records.append(json.loads(line))
        except ValueError:
            break
    return records


def append_line(path: Path, record: dict[str, Any]) -> None:
    """Adds a record to a JSON-lines file. Raises `Unwritable`."""
    with writing(path.parent):
        point("line.begin")
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    point("line.done")


def sync(path: Path) -> None:
    """Makes the content of a file survive a loss of power."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """Makes renames within a directory survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def digest(path: Path, first: int | None = None) -> str:
    """The SHA-256 of a file, or of its `first` bytes."""
    with path.open("rb") as file:
        if first is not None:
            return hashlib.sha256(file.read(first)).hexdigest()
        return hashlib.file_digest(file, "sha256").hexdigest()
