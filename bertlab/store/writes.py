"""Writes files below a root, whole or not at all, and removes and renames what is there.

All writes with names from data go through here. A path that leads out of its root, by `..`, as an absolute path or
through a link, is refused.
"""

import errno
import json
import math
import os
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from bertlab.errors import BadInput, writing
from bertlab.names import shown
from bertlab.store.files import seal

LONGEST_NAME, LONGEST_PATH = 255, 4000
"""Bytes of a name and of a path that file systems of Linux allow."""


def below(root: Path, name: str, *, itself: bool = False) -> Path:
    """The path of `name` below `root`. Raises `BadInput` for one that leads out of it, and for an impossible name.

    With `itself` the last part is not followed: it may be a link, which is then removed or replaced.
    """
    path, parts = root / name, PurePosixPath(name).parts
    try:
        lengths = [len(os.fsencode(part)) for part in (*parts, str(path))]
        possible = parts and max(lengths[:-1]) <= LONGEST_NAME and lengths[-1] <= LONGEST_PATH
        inside = possible and "\0" not in name and ".." not in parts and parts[0] != "/"
        target = path.parent if itself else path
        if inside and target.resolve().is_relative_to(root.resolve()) and not _loops(target):
            return path
    except (OSError, RuntimeError, ValueError):  # a link to itself; halves of surrogate pairs
        pass
    raise BadInput(f"{shown(name)} leads out of '{root}', or is no name of a file: remove the link, or what names it")


def _loops(path: Path) -> bool:
    """Whether a link on the way to a path leads to itself, which `resolve` raises before Python 3.13 alone."""
    try:
        path.resolve(strict=True)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def folder(root: Path, name: str = ".") -> Path:
    """The folder `name` below `root`, or this itself, made if it is missing. Raises `Unwritable`, and as `below`."""
    path = root if name == "." else below(root, name)
    with writing(path.parent):
        path.mkdir(parents=True, exist_ok=True)
    return path


def write(root: Path, name: str, content: str | bytes) -> None:
    """Writes a file under another name, syncs it and renames it, so that it is whole or absent.

    Raises `Unwritable`, and `BadInput` as `below`.
    """
    path = below(root, name)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with writing(path.parent):
        sweep(path)
        try:
            beside.unlink(missing_ok=True)  # of a process that had this number, or a link
            with beside.open("xb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        sync(path.parent)


def copy(source: Path, root: Path, name: str) -> None:
    """Copies the content of a file, and syncs it. Raises `Unwritable`, and `BadInput` as `below`."""
    path = below(root, name)
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
        sync(path)


def move(root: Path, old: str, new: str) -> None:
    """Renames a file or folder below `root`, and syncs the folder. Raises `BadInput` as `below`."""
    path = below(root, new, itself=True)
    below(root, old, itself=True).rename(path)
    sync(path.parent)


def remove(root: Path, name: str) -> None:
    """Removes a file, a link, or a folder with all that is in it, if it is there. Raises `BadInput` as `below`."""
    path = below(root, name, itself=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def sweep(path: Path) -> None:
    """Removes partial copies of a file or directory that killed processes left."""
    left = re.compile(re.escape(f".{path.name}.") + r"(\d+)\.part")
    for beside in path.parent.iterdir() if path.parent.is_dir() else ():
        process = left.fullmatch(beside.name)
        if process and not _lives(int(process[1])) and time.time() - beside.lstat().st_mtime > 2:
            remove(path.parent, beside.name)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True


def write_json(root: Path, name: str, data: Any) -> None:
    """Writes `data` as JSON, whole or not at all; in ASCII, which can represent any name of a file or in data.

    A number that is not finite, which JSON does not have, becomes null.
    """
    write(root, name, json.dumps(_finite(data), indent=1) + "\n")


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {name: _finite(value) for name, value in data.items()}
    return [_finite(value) for value in data] if isinstance(data, list | tuple) else data


def write_sealed(root: Path, name: str, record: Mapping[str, Any]) -> None:
    """Writes a record with its own SHA-256, for a file that no manifest lists."""
    write_json(root, name, sealed(record))


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as it is read from JSON, where all names are texts, with its own SHA-256."""
    data = json.loads(json.dumps(_finite(record)))
    return {**data, "sha256": seal(data)}


def append_line(root: Path, name: str, record: Mapping[str, Any]) -> None:
    """Appends a record to a JSON-lines file. Raises `Unwritable`, and `BadInput` as `below`."""
    path = below(root, name)
    with writing(path.parent), path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def sync(path: Path) -> None:
    """Syncs the content of a file, or the names in a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
