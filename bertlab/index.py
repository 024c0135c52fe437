"""What is remembered between commands: hashes of files by path, size and time, and what the Hub said."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput


class Index:
    """Entries by name, in one JSON file, which can be removed at any time."""

    def __init__(self, cache: Path) -> None:
        self._path = cache / "hashes.json"
        self._new: dict[str, Any] = {}
        self.entries = self._read()

    def _read(self) -> dict[str, Any]:
        try:
            entries = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            entries = None
        return entries if isinstance(entries, dict) else {}

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
        """Keeps an entry, once it is saved."""
        if self.entries.get(name) != value:
            self.entries[name] = self._new[name] = value

    def save(self) -> None:
        """Writes what was remembered, if that is possible."""
        if not self._new:
            return
        entries = self._read() | self._new  # another command may have written meanwhile
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._path.parent, encoding="utf-8", delete=False) as stream:
                json.dump(entries, stream)
            Path(stream.name).replace(self._path)
        except OSError:
            pass  # the next command looks again
