"""A cache between commands: hashes of files by path, size and time, and answers of the Hub."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

from bertlab.errors import Unwritable, unusable
from bertlab.store.files import content, opened, write_json


class Index:
    """Entries by name, in one JSON file, which may be removed at any time."""

    def __init__(self, cache: Path) -> None:
        self._path = cache / "hashes.json"
        self._new: dict[str, Any] = {}
        self.entries = self._read()

    def _read(self) -> dict[str, Any]:
        try:
            entries = json.loads(content(self._path, "cache"))
        except (ValueError, RecursionError):  # missing or damaged
            entries = None
        return entries if isinstance(entries, dict) else {}

    def digest(self, path: Path) -> str:
        """The SHA-256 of a file, from the cache while its size, times and inode are unchanged.

        A user can restore size and modification time, but not the change time.
        """
        try:
            found = path.stat()
            state = [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
            known = self.entries.get(str(path.resolve()))
            if isinstance(known, list) and len(known) == 5 and known[:4] == state:
                return str(known[4])
            with opened(path, "file") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise unusable(error, "file", path) from None
        if time.time_ns() - found.st_mtime_ns > 2e9:  # a recent file may change again within the resolution of its time
            self.remember(str(path.resolve()), [*state, digest])
        return digest

    def remember(self, name: str, value: Any) -> None:
        """Adds an entry, which `save` writes."""
        if self.entries.get(name) != value:
            self.entries[name] = self._new[name] = value

    def save(self) -> None:
        """Writes the new entries, if that is possible."""
        if not self._new:
            return
        entries = self._read() | self._new  # another command may have written
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_json(self._path, entries)
        except (OSError, Unwritable):
            pass  # the next command computes them again
