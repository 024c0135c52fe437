"""`bertlab runs`: lists the runs of a store, and removes some."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from bertlab.cli import complete
from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, RUNS, Names, option
from bertlab.cli.table import print_table
from bertlab.errors import BadInput, unknown
from bertlab.names import ALL

COLUMNS = ("id", "kind", "label", "status", "reason")
"""Of the JSON, with `path`, `recipe` and `addresses`. The table has the address of a run, else its label."""


def runs(
    runs: Path = RUNS,
    remove: Names = option(None, "--remove", "RUN", "Remove a finished run; repeatable.", autocompletion=complete.RUNS),
    prune: bool = option(False, "--prune", None, "Remove runs of no study, and remains of killed and damaged runs."),
    study: Names = option(
        None, "--study", "STUDY", "List only the runs of this study; repeatable.", autocompletion=complete.STUDIES
    ),
    json: bool = JSON,
) -> None:
    """List or remove runs.

    Commands that take a run accept what this lists: an id, or STUDY/VARIANT/SEED, and for measurements
    STUDY/VARIANT/SEED/MEASUREMENT. Labels and directories work too.

    Example: bertlab runs --study masking
    """
    from bertlab.store import addresses
    from bertlab.store.files import read_json
    from bertlab.store.prune import prune as pruned
    from bertlab.store.runs import Store

    store = Store(runs, lenient=not prune)
    if not runs.is_dir():
        raise BadInput(f"there is no runs directory '{runs}': run `bertlab ablate` first, or give another with --runs")
    if study and prune:
        raise BadInput("--study: --prune removes runs of no study, so leave one out")
    if remove:
        found = list(dict.fromkeys(store.match(name, to_remove=True) for name in remove))
        with store.exclusive():
            reserved = store.reserved_ids()
            for run in found:
                if run.id in reserved:
                    raise BadInput(f"--remove: a running command needs {run.label}: wait until it ends, or stop it")
            store.remove(found)
        for run in found:
            say(f"removed {run.id} {run.label}")
    if prune:
        finished, unfinished = pruned(store)
        say(f"removed {finished} finished and {unfinished} unfinished runs")
    # Every run: `COLUMNS`, its path and its recipe.
    rows: list[tuple[Any, ...]] = [
        (run.id, run.kind, run.label, run.result().get("status", "done"), "", str(run.path), run.science())
        for run in store.runs()
    ]
    rows += [(*(each.get(name, "") for name in COLUMNS), "", each.get("science", {})) for each in store.failures()]
    for run, path in store.damaged():
        reason = f"{path.relative_to(run.path)} has changed: the command that made the run repeats it"
        rows.append((run.id, run.kind, run.label, "damaged", reason, str(run.path), {}))
    listed = {run_id for run_id, *_ in rows}
    for kind, run_id, active in store.unfinished():
        if run_id in listed:
            continue
        path, record, reason = store.root / kind / f".{run_id}.work", {}, "the same command resumes it"
        with suppress(BadInput):  # not there yet, or being written
            record = read_json(path / "recipe.json", {"science": dict, "label": str})
        if active:
            at = store.progress(run_id)
            reason = ""
            if at.get("total"):
                reason = f"{at['done']:,}/{at['total']:,} {at['stage']}, process {at['pid']} on {at['host']}"
        status, label = "running" if active else "interrupted", record.get("label", "")
        rows.append((run_id, kind, label, status, reason, str(path), record.get("science", {})))
    records = store.records(needed=()).values()
    if study and ALL not in study:
        for name in study:
            if name not in (names := {record.study for record in records}):
                raise unknown("study with runs", name, names)
        wanted = set().union(*(addresses.run_ids(record) for record in records if record.study in study))
        rows = [row for row in rows if row[0] in wanted]
    known = addresses.of_runs(records)
    named = known
    if study and ALL not in study:
        own = tuple(f"{name}{mark}" for name in study for mark in "/@")
        named = {run_id: [each for each in found if each.startswith(own)] for run_id, found in known.items()}
    if json:
        columns = (*COLUMNS, "path", "recipe")
        print_json([dict(zip(columns, row, strict=True)) | {"addresses": known.get(row[0], [])} for row in rows])
    elif not remove and not prune:
        shown = [
            (run_id, kind, addresses.shown(label, named.get(run_id, [])), *rest[:2])
            for run_id, kind, label, *rest in rows
        ]
        if not shown:
            say(f"{runs} has no runs: `bertlab ablate` writes them; give another store with --runs")
        print_table(("id", "kind", "run", "status", "reason"), shown, left=5)
