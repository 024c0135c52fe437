"""`bertlab runs`: lists finished, failed, damaged and interrupted runs, and removes runs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bertlab.cli.console import print_json, print_table, say
from bertlab.cli.options import Json, Names, Runs, option
from bertlab.errors import BadInput

if TYPE_CHECKING:
    from bertlab.store.runs import Store


def runs(
    runs: Runs = Path("runs"),
    remove: Annotated[Names, option("--remove", "RUN", "Remove a finished run; repeatable.")] = None,
    prune: Annotated[
        bool, option("--prune", None, "Remove runs that belong to no study, and remains of killed and damaged runs.")
    ] = False,
    json: Json = False,
) -> None:
    """List or remove runs."""
    from bertlab.store.prune import prune as pruned
    from bertlab.store.runs import Store

    store = Store(runs, lenient=not prune)
    if not runs.is_dir():
        raise BadInput(f"there is no runs directory '{runs}': run `bertlab ablate` first, or give another with --runs")
    if remove:
        found = list(dict.fromkeys(store.match(name, to_remove=True) for name in remove))
        store.remove(found)
        for run in found:
            say(f"removed {run.id} {run.label}")
    if prune:
        finished, unfinished = pruned(store)
        say(f"removed {finished} finished and {unfinished} unfinished runs")
    listed = _listed(store)
    if json:
        print_json(listed)
    elif not remove and not prune:
        columns = ("id", "kind", "label", "status", "reason")
        print_table(columns, [[str(run[name]) for name in columns] for run in listed], left=5)


def _listed(store: Store) -> list[dict[str, Any]]:
    """Every run as a record of `id`, `kind`, `status`, `reason`, `path`, `recipe` and `label`."""
    from bertlab.store.files import read_json

    found: list[dict[str, Any]] = []

    def add(run_id: str, kind: str, status: str, **more: Any) -> None:
        empty = {"reason": "", "path": "", "recipe": {}, "label": ""}
        found.append({"id": run_id, "kind": kind, "status": status} | empty | more)

    for run in store.runs():
        status = run.result().get("status", "done")
        add(run.id, run.kind, status, path=str(run.path), recipe=run.science(), label=run.label)
    for each in store.failures():
        texts = {name: each.get(name, "") for name in ("reason", "label")}
        add(each["id"], each.get("kind", ""), each.get("status", "failed"), recipe=each.get("science", {}), **texts)
    for run, path in store.damaged():
        reason = f"{path.relative_to(run.path)} has changed: the command that made the run repeats it"
        add(run.id, run.kind, "damaged", reason=reason, path=str(run.path), label=run.label)
    listed = {each["id"] for each in found}
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
        add(run_id, kind, status, reason=reason, path=str(path), recipe=record.get("science", {}), label=label)
    return found
