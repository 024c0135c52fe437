"""The finished runs of a store as its folders and its archive list them, whether they are damaged or not."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bertlab.errors import BadInput, Unusable, warn
from bertlab.store import archive, schema
from bertlab.store.files import kind as kind_of
from bertlab.store.run import Run, is_kind

RESOLUTION = 2e9
"""Nanoseconds within which a folder may change twice at the same time, as its file system tells it."""


class Listing:
    """The runs of a store. An unreadable one is an error; with `lenient`, it is a warning."""

    def __init__(self, root: Path, *, lenient: bool) -> None:
        self.root, self.lenient = root, lenient
        self._listed: dict[str, tuple[int, dict[str, list[Run]]]] = {}  # by kind, with the time of the folder

    def kinds(self) -> list[str]:
        """The kinds of its runs, each a folder."""
        with suppress(OSError):
            return sorted(entry.name for entry in os.scandir(self.root) if is_kind(entry.name) and entry.is_dir())
        return []

    def ids(self) -> set[str]:
        """The ids of all runs that it has something of, finished, damaged or half removed."""
        folders = (run_id for kind in self.kinds() for run_id in self.directories(kind))
        return {*folders, *(run.id for run in self.sealed())}

    def sealed(self, run_id: str = "") -> Iterator[Run]:
        """Directories with a manifest, of one id or of all, in the order of their kinds and names."""
        archives = archive.opened(self.root).runs
        for kind in sorted({*self.kinds(), *archives}):
            runs, archived = self.directories(kind), archives.get(kind, {})
            for name in [run_id] if run_id else sorted({*runs, *archived}) if archived else runs:
                sealed = [run for run in runs.get(name, ()) if self._is_sealed(run)]
                yield from sealed or archived.get(name, ())

    def damage(self, run: Run) -> Path | None:
        """The first file of a run that changed after it finished."""
        try:
            return run.damage(large=False)
        except Unusable as error:
            self._skip(error)
            return run.path

    def _is_sealed(self, run: Run) -> bool:
        """Whether a directory has a manifest."""
        try:
            return kind_of(run.path / "manifest.json", "file") is not None
        except BadInput as error:
            self._skip(error)
            return False

    def _skip(self, error: BadInput) -> None:
        if not self.lenient:
            raise error
        warn(f"{error}; the run is skipped")

    def directories(self, kind: str) -> dict[str, list[Run]]:
        """The directories with names of finished runs of a kind by id, in order.

        A listing is used again until the folder changes; one that may change again within the resolution of its time
        is not.
        """
        folder = self.root / kind
        try:
            changed = folder.stat().st_mtime_ns
        except FileNotFoundError:
            return {}
        since, runs = self._listed.get(kind, (0, {}))
        if since != changed:
            runs = {}
            for name in sorted(os.listdir(folder)):
                run_id, mark, label_of = name.partition("--")
                if mark and schema.is_id(run_id):
                    runs.setdefault(run_id, []).append(Run(run_id, kind, label_of, folder / name))
            if time.time_ns() - changed > RESOLUTION:
                self._listed[kind] = changed, runs
        return runs
