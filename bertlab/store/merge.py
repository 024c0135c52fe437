"""Joins the stores of several people, in memory or into a new store: finished runs, records, and failures.

If several stores have a run, the copy with the most files counts, else the first. A warning names runs with different
results: last digits depend on the machine and its numerics.
"""

import itertools
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput, warn, writing
from bertlab.store import union
from bertlab.store.files import sync
from bertlab.store.runs import KINDS, Run, Store
from bertlab.store.union import Record

RESULTS = ("result.json", "predictions.npz")
"""The files of a run that must be equal in all stores."""


class Joined(Store):
    """Several stores, read as one."""

    def __init__(self, stores: Sequence[Store]) -> None:
        """Raises `BadInput` for stores that cannot be joined, and for an empty one."""
        super().__init__(Path(" and ".join(str(store.root) for store in stores)))
        self.stores = stores
        for store in stores:
            if not any((store.root / name).is_dir() for name in ("studies", *KINDS)):
                raise BadInput(f"there is no store '{store.root}': give the directory of runs or of exported results")
        self._runs: dict[str, Run] = {}
        for run in itertools.chain.from_iterable(store.runs() for store in stores):
            self._add(run)
        self._records: dict[str, Record] = {}
        for store in stores:
            for record in store.records().values():
                union.join(self._records, record, "another of the stores")

    def _add(self, run: Run) -> None:
        known = self._runs.setdefault(run.id, run)
        if known is run:
            return
        ours, theirs = known.manifest(), run.manifest()
        both = [name for name in RESULTS if name in ours and name in theirs]
        if any(ours[name]["sha256"] != theirs[name]["sha256"] for name in both):
            warn(f"run {run.id} has one result in '{known.path}', which counts, and another in '{run.path}'")
        elif len(theirs) > len(ours):
            self._runs[run.id] = run

    def runs(self) -> list[Run]:
        """All finished runs, each once, in the order of their kinds and ids."""
        return sorted(self._runs.values(), key=lambda run: (KINDS.index(run.kind), run.id))

    def damaged(self) -> list[tuple[Run, Path]]:
        """Runs that are damaged in all stores that have them, each with a changed file."""
        found = itertools.chain.from_iterable(store.damaged() for store in self.stores)
        return [(run, path) for run, path in found if run.id not in self._runs]

    def records(self, *, skip_damaged: bool = False) -> dict[str, Record]:
        """The joined records of studies."""
        return self._records

    def failure(self, run_id: str) -> dict[str, Any] | None:
        """Why the run with this id ended without a result, in the first store that says so."""
        return next((found for store in self.stores if (found := store.failure(run_id))), None)

    def failures(self) -> list[dict[str, Any]]:
        """Runs that ended without a result, each once."""
        return list({each["id"]: each for store in self.stores[::-1] for each in store.failures()}.values())


def merge(sources: Iterable[Path], into: Path, progress: Callable[[int, int], None]) -> tuple[int, int, list[Record]]:
    """Joins stores or exported results into the store `into`, which may contain runs.

    Returns the numbers of copied runs and of runs that `into` had already, and the joined records.

    Compares every file with its checksum first. Calls `progress` with the numbers of copied and of all runs. Raises
    `BadInput` before it writes anything if a file is damaged or the stores cannot be joined.
    """
    target = Store(into)
    others = [Store(path) for path in dict.fromkeys(sources) if path.resolve() != into.resolve()]
    for store in others:
        for run, _ in store.damaged():
            run.verify()
    joined = Joined([*([target] if (into / "studies").is_dir() else []), *others])
    there = {run.path for run in target.runs()}
    new = [run for run in joined.runs() if run.path not in there]
    for run in new:
        run.verify()
    target.prepare()
    with target.reserved(run.id for run in joined.runs()):
        for number, run in enumerate(new):
            progress(number, len(new))
            _copy(run, target)
        done = {run.id for run in joined.runs()}
        for failure in joined.failures():
            if failure["id"] not in done and target.failure(failure["id"]) is None:
                target.fail(failure)
        kept = union.keep(target, joined.records().values())
    return len(new), len(joined.runs()) - len(new), kept


def _copy(run: Run, target: Store) -> None:
    """Copies a run, whole or not at all, in place of a copy with fewer files."""
    folder = target.root / run.kind
    beside = folder / f".{run.id}.merged"
    with target.claimed(run.id) as claim, writing(folder):
        if claim is None:
            raise BadInput(f"another command works on run {run.id} in '{target.root}': merge again when it has ended")
        shutil.rmtree(beside, ignore_errors=True)
        try:
            for name in (*run.manifest(), "manifest.json"):
                (beside / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(run.path / name, beside / name)
                sync(beside / name)
            lesser = target.get(run.id)
            if lesser is not None:
                target.remove([lesser])
            beside.rename(folder / run.path.name)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        sync(folder)
        target.discard(run.kind, run.id)
        target.clear_failure(run.id)
