"""Joins the stores of several people, in memory or into a new store: finished runs, records, and failures.

If several stores have a run, the copy with the most files counts, else the first; one whose answers an export took out
counts last. Results of one run that differ by more than rounding are an error if machine and numerics are equal;
otherwise a note lists them, as they depend on both. It also lists those of GPUs, which add in another order each time.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput, writing
from bertlab.store import addenda, forecasts, union
from bertlab.store.addenda import Addenda
from bertlab.store.files import real
from bertlab.store.predictions import PREDICTIONS, equal
from bertlab.store.record import Record
from bertlab.store.result import Failure
from bertlab.store.run import ANSWERS, Run
from bertlab.store.runs import Store
from bertlab.store.writes import below, move, remove
from bertlab.wording import pluralise


class MergedStores(Store):
    """Several stores, read as one."""

    def __init__(self, stores: Sequence[Store]) -> None:
        """Raises `BadInput` for stores that cannot be joined, and for an empty one."""
        super().__init__(Path(" and ".join(str(store.root) for store in stores)))
        self.stores = stores
        for store in stores:
            if not store.begun:
                raise BadInput(f"there is no store '{store.root}': give the directory of runs or of exported results")
        self._runs: dict[str, Run] = {}
        self.differing: list[str] = []
        """Runs with different results in different stores."""
        for run in itertools.chain.from_iterable(store.runs() for store in stores):
            first = self._runs.setdefault(run.id, run)
            if first is run:
                continue
            if not _same(first, run):  # results may depend on numerics and processor
                here, there = run.environment(), first.environment()
                on_cpu = here.numerics.get("device", "cpu") == "cpu"
                equal_facts = (here.numerics, here.processor) == (there.numerics, there.processor)
                if run.kind != first.kind or (on_cpu and equal_facts):
                    raise BadInput(
                        f"run {run.id} has one result in '{first.path}' and another in '{run.path}', with equal "
                        f"numerics: remove the wrong one with `bertlab runs --remove {run.id} --runs STORE`"
                    )
                self.differing.append(f"{run.id} {run.label}")
            elif _files(run) > _files(first):
                self._runs[run.id] = run
        self._records: dict[str, Record] = {}
        for store in reversed(stores):  # the first one's claims and published values count, as its runs do
            for record in store.records().values():
                union.merge_into(self._records, record, "another of the stores")

    def runs(self) -> list[Run]:
        """All finished runs, each once, in the order of their kinds and ids."""
        return sorted(self._runs.values(), key=lambda run: (run.kind, run.id))

    def damaged(self) -> list[tuple[Run, Path]]:
        """Runs that are damaged in all stores that have them, each with a changed file."""
        damaged = itertools.chain.from_iterable(store.damaged() for store in self.stores)
        return [(run, path) for run, path in damaged if run.id not in self._runs]

    def records(self, *, needed: Collection[str] | None = None) -> dict[str, Record]:
        """The joined records of studies."""
        return self._records

    def failure(self, run_id: str) -> Failure | None:
        """Why the run with this id ended without a result, in the first store that says so."""
        return next((failure for store in self.stores if (failure := store.failure(run_id))), None)

    def failures(self) -> list[Failure]:
        """Runs that ended without a result, each once."""
        return list({failure.id: failure for store in self.stores[::-1] for failure in store.failures()}.values())

    def addenda(self) -> Addenda:
        """The addenda of all stores; the first one's count."""
        return addenda.joined(store.addenda() for store in self.stores)

    def notes(self) -> list[str]:
        """Differences between the stores on which results may depend."""
        computed: dict[str, dict[Path, set[str]]] = {}  # the values of each fact about the numerics of trainings
        for store in self.stores:
            for run in (run for run in store.runs() if run.kind != "corpus"):
                for name, value in run.environment().numerics.items():
                    computed.setdefault(name, {}).setdefault(store.root, set()).add(str(value))
        lines = []
        for name, by_store in computed.items():
            values = {root: " and ".join(sorted(texts)) for root, texts in by_store.items()}
            if len({*values.values()}) > 1:
                here = ", ".join(f"{value} in '{root}'" for root, value in values.items())
                lines.append(f"{name} differs: {here}; the same run ends with other values there")
        if self.differing:
            names = ", ".join(self.differing[:5]) + ", ..." * (len(self.differing) > 5)
            lines.append(f"{pluralise(len(self.differing), 'result')} of the first of the stores kept: {names}")
        return lines


def _files(run: Run) -> int:
    manifest = run.manifest()
    return 0 if ANSWERS in manifest else len(manifest)


def _same(one: Run, other: Run) -> bool:
    """Whether two copies of a run have the same kind, predictions and result, but for rounding."""
    ours, theirs = one.manifest(), other.manifest()
    shared = ours.keys() & theirs.keys() & {"result.json", PREDICTIONS, ANSWERS}
    differing = {name for name in shared if ours[name].sha256 != theirs[name].sha256}
    if one.kind != other.kind or (differing & {PREDICTIONS, ANSWERS} and not equal(one, other)):
        return False
    if "result.json" not in differing:
        return True
    first, second = (run.read("result.json", dict[str, Any]) for run in (one, other))
    return _nearly_equal(first, second)


def _nearly_equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal but for the last digits of numbers, and for metrics that one version lacks."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return all(_nearly_equal(one[name], other[name]) for name in one.keys() & other.keys())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_nearly_equal, one, other))
    return bool(one == other)


def opened(roots: Sequence[Path]) -> Store:
    """A store, or several that are read as one. Raises `BadInput` as `MergedStores` does."""
    stores = [Store(root, lenient=True) for root in roots]
    return stores[0] if len(stores) == 1 else MergedStores(stores)


def merge(
    sources: Iterable[Path], into: Path, progress: Callable[[int, int], None]
) -> tuple[int, int, list[Record], list[str]]:
    """Joins stores or exported results into the store `into`, which may contain runs.

    Returns the numbers of copied runs and of runs that `into` had already, the joined records, and notes. Compares
    every file with its checksum first. Calls `progress` with the numbers of copied and of all runs. Raises `BadInput`
    before it writes anything if a file is damaged or the stores cannot be joined.
    """
    target = Store(into)
    others = [Store(path) for path in dict.fromkeys(sources) if real(path) != real(into)]
    for store in others:
        for run, _ in store.damaged():
            run.verify()
    if into.is_dir() and not target.begun and any(into.iterdir()):
        raise BadInput(f"'{into}' is not a store: give a store, or a new directory, with --into")
    joined = MergedStores([*([target] if target.begun else []), *others])
    paths = {run.path for run in target.runs()}
    new = [run for run in joined.runs() if run.path not in paths]
    for run in new:
        run.verify()
        run.check_copied()
    _, names = union.merged(target, joined.records().values())
    files = [f"{run.kind}/.{run.id}.merged" for run in new] + [f"{run.kind}/{run.path.name}" for run in new]
    files += [f"failures/{failure.id}.json" for failure in joined.failures()]
    for file in (*files, *(f"studies/{name}{end}" for name in names for end in ("", ".json", ".toml"))):
        below(into, file)  # before anything is written
    target.create_directories()
    with target.locks.reserved(run.id for run in joined.runs()):
        held = target.listing.ids()  # once: each copy changes the folder, whose listing takes as long as it is
        for number, run in enumerate(new):
            progress(number, len(new))
            _copy(run, target, run.id in held)
        done = {run.id for run in joined.runs()}
        for failure in joined.failures():
            if failure.id not in done and target.failure(failure.id) is None:
                target.fail(failure)
        records = union.save_records(target, joined.records().values())
        joined.addenda().write(into)
        forecasts.copy((store.root for store in others), into)
    return len(new), len(joined.runs()) - len(new), records, joined.notes()


def _copy(run: Run, target: Store, held: bool) -> None:
    """Copies a run, whole or not at all, in place of a copy with fewer files, which the target may have if `held`."""
    folder = target.root / run.kind
    beside, final = f"{run.kind}/.{run.id}.merged", f"{run.kind}/{run.path.name}"
    with target.locks.run(run.id) as lock, writing(folder):
        if lock is None:
            raise BadInput(f"another command works on run {run.id} in '{target.root}': merge again when it has ended")
        remove(target.root, beside)
        try:
            for name in (*run.manifest(), "manifest.json"):
                run.copy(name, target.root, f"{beside}/{name}")
            if held or below(target.root, final).exists():  # since then, by a command that runs now
                lesser = target.get(run.id)
                if lesser is not None and lesser.path.is_dir():  # else it is in an archive, and the folder counts
                    target.remove([lesser])
                target.set_aside(run.kind, run.id)  # a damaged copy
            move(target.root, beside, final)
        finally:
            remove(target.root, beside)
        target.discard(run.kind, run.id)
        target.clear_failure(run.id)
