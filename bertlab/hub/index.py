"""A cache between commands: hashes of files by path, size and time, and answers of the Hub."""

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from bertlab.errors import Unwritable, unusable
from bertlab.store.files import content, digest, write_json


class Index:
    """Entries by name, in one JSON file, which may be removed at any time."""

    def __init__(self, cache: Path) -> None:
        self._path = cache / "hashes.json"
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
        name = str(path.resolve())
        try:
            found = path.stat()
            state = [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
            known = self.entries.get(name)
            if isinstance(known, list) and known[:4] == state:
                return str(known[4])
            sha256 = digest(path)
        except OSError as error:
            raise unusable(error, "file", path) from None
        if time.time_ns() - found.st_mtime_ns > 2e9:  # a recent file may change again within the resolution of its time
            self.entries[name] = [*state, sha256]
        return sha256

    def save(self) -> None:
        """Writes the entries, if there are new ones and the cache can be written."""
        stored = self._read()  # another command may have written
        if stored | self.entries == stored:
            return
        with suppress(OSError, Unwritable):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_json(self._path, stored | self.entries)
