"""`bertlab runs`: lists the runs of a store, and removes some."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, RUNS, Names, flag, option
from bertlab.cli.table import print_table
from bertlab.errors import BadInput, unknown
from bertlab.names import ALL

if TYPE_CHECKING:
    from bertlab.store.runs import Store

Row = tuple[Any, ...]
COLUMNS = ("id", "kind", "label", "status", "reason")
"""What the JSON has of each run, with `path`, `recipe` and `addresses`. The table has its address, else its label."""


def runs(
    runs: Path = RUNS,
    remove: Names = option(None, "RUN", "Remove a finished run; repeatable."),
    prune: bool = flag("Remove runs of no study, and remains of killed and damaged runs."),
    study: Names = option(None, "STUDY", "List only the runs of this study; repeatable."),
    json: bool = JSON,
) -> None:
    """List or remove runs.

    Commands that take a run accept what this lists: an id, or STUDY/VARIANT/SEED, and for measurements
    STUDY/VARIANT/SEED/MEASUREMENT. Labels and directories work too.

    Example: bertlab runs --study masking
    """
    from bertlab.store.prune import prune as pruned
    from bertlab.store.runs import Store

    store = Store(runs, lenient=not prune)
    if not runs.is_dir():
        raise BadInput(f"there is no runs directory '{runs}': run `bertlab ablate` first, or give another with --runs")
    if study and prune:
        raise BadInput("--study: --prune removes runs of no study, so leave one out")
    _remove(store, remove or ())
    if prune:
        finished, unfinished = pruned(store)
        say(f"removed {finished} finished and {unfinished} unfinished runs")
    if json or not (remove or prune):
        _list(store, [] if ALL in (study or ()) else study or [], json)


def _remove(store: "Store", names: Sequence[str]) -> None:
    from bertlab.store import lookup

    chosen = list(dict.fromkeys(lookup.find(store, name, to_remove=True) for name in names))
    with store.locks.exclusive() if chosen else nullcontext():
        reserved = store.locks.reserved_ids()
        for run in chosen:
            if run.id in reserved:
                raise BadInput(f"--remove: a running command needs {run.label}: wait until it ends, or stop it")
        store.remove(chosen)
    for run in chosen:
        say(f"removed {run.id} {run.label}")


def _list(store: "Store", studies: Sequence[str], json: bool) -> None:
    """Prints the runs of some studies, or all."""
    from bertlab.store import addresses

    rows, records = list(_rows(store)), store.records(needed=()).values()
    names = {record.study for record in records}
    for name in studies:
        if name not in names:
            raise unknown("study with runs", name, names)
    if studies:
        wanted = set().union(*(addresses.run_ids(record) for record in records if record.study in studies))
        rows = [row for row in rows if row[0] in wanted]
    by_run = addresses.of_runs(records)
    if json:
        columns = (*COLUMNS, "path", "recipe")
        print_json([dict(zip(columns, row, strict=True)) | {"addresses": by_run.get(row[0], [])} for row in rows])
        return
    of_study = tuple(f"{name}{mark}" for name in studies for mark in "/@") or ""
    shown = []
    for run_id, kind, label, status, reason, *_ in rows:
        among = [address for address in by_run.get(run_id, []) if address.startswith(of_study)]
        shown.append((run_id, kind, addresses.shown(label, among), status, reason))
    if not shown:
        say(f"{store.root} has no runs: `bertlab ablate` writes them; give another store with --runs")
    print_table(("id", "kind", "run", "status", "reason"), shown, left=5)


def _rows(store: "Store") -> Iterator[Row]:
    """Every run of a store: `COLUMNS`, its path and its recipe."""
    listed = set[str]()
    for run in store.runs():
        listed.add(run.id)
        yield run.id, run.kind, run.label, run.result().status, "", str(run.path), run.definition()
    for failure in store.failures():
        listed.add(failure.id)
        science = failure.science or {}
        yield failure.id, failure.kind, failure.label, failure.status, failure.reason, "", science
    for run, path in store.damaged():
        listed.add(run.id)
        reason = f"{path.relative_to(run.path)} has changed: the command that made the run repeats it"
        yield run.id, run.kind, run.label, "damaged", reason, str(run.path), {}
    for kind, run_id, active in store.unfinished():
        if run_id not in listed:
            yield _unfinished(store, kind, run_id, active)


def _unfinished(store: "Store", kind: str, run_id: str, active: bool) -> Row:
    from bertlab.store.files import read_json
    from bertlab.store.result import RunFile

    path, stated = store.root / kind / f".{run_id}.work", RunFile(science={})
    with suppress(BadInput):  # not there yet, or being written
        stated = read_json(path / "recipe.json", RunFile)
    status, reason = "interrupted", "the same command resumes it"
    if active:
        status, reason, at = "running", "", store.locks.progress(run_id)
        if at is not None and at.total:
            reason = f"{at.done:,}/{at.total:,} {at.stage}, process {at.pid} on {at.host}"
    return run_id, kind, stated.label, status, reason, str(path), stated.science
