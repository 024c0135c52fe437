"""`bertlab runs`: lists runs, finished, running or failed, and removes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bertlab.cli.console import command, print_json, print_table, say
from bertlab.cli.options import Json, Names, Runs, option

if TYPE_CHECKING:
    from bertlab.store.runs import Store

RESUMES = "the same command resumes it"


@command
def runs(
    runs: Runs = Path("runs"),
    remove: Annotated[Names, option("--remove", "RUN", "Remove a finished run; repeatable.")] = None,
    prune: Annotated[
        bool, option("--prune", None, "Remove runs outside of studies, and the remains of killed and damaged runs.")
    ] = False,
    json: Json = False,
) -> None:
    """List or remove the runs of the store."""
    from bertlab.errors import BadInput
    from bertlab.store.runs import Store

    store = Store(runs, lenient=not prune)
    if not runs.is_dir():
        raise BadInput(f"there is no runs directory '{runs}': run `bertlab ablate` first, or give another with --runs")
    if remove:
        found = list(dict.fromkeys(store.match(name, damaged=True, exact=True) for name in remove))
        store.remove(found)
        for run in found:
            say(f"removed {run.id} {run.label}")
    if prune:
        from bertlab.store.prune import prune as pruned

        finished, unfinished = pruned(store)
        say(f"removed {finished} finished and {unfinished} unfinished runs")
    listed = _listed(store)
    if json:
        print_json(listed)
    elif not remove and not prune:
        columns = ("id", "kind", "label", "status", "reason")
        print_table(columns, [[str(run[name]) for name in columns] for run in listed], left=5)


def _entry(
    run_id: str, kind: str, status: str, reason: str, path: str, science: dict[str, Any], label: str
) -> dict[str, Any]:
    return {
        "id": run_id,
        "kind": kind,
        "status": status,
        "reason": reason,
        "path": path,
        "recipe": science,
        "label": label,
    }


def _listed(store: Store) -> list[dict[str, Any]]:
    from bertlab.errors import BadInput
    from bertlab.store.files import read_json

    finished = [
        _entry(run.id, run.kind, run.result().get("status", "done"), "", str(run.path), run.science(), run.label)
        for run in store.runs()
    ]
    failed = [
        _entry(
            each["id"],
            each.get("kind", ""),
            each.get("status", "failed"),
            each.get("reason", ""),
            "",
            each.get("science", {}),
            each.get("label", ""),
        )
        for each in store.failures()
    ]
    for run, path in store.damaged():
        reason = f"{path.relative_to(run.path)} has changed: the command that made the run repeats it"
        failed.append(_entry(run.id, run.kind, "damaged", reason, str(run.path), {}, run.label))
    known = {record["id"] for record in failed}
    for kind, run_id, active in store.unfinished():
        if run_id in known:
            continue
        path = store.root / kind / f".{run_id}.work"
        try:
            record = read_json(path / "recipe.json", {"science": dict, "label": str})
        except BadInput:  # not there yet, or being written
            record = {}
        status, reason = ("running", _at(store.progress(run_id))) if active else ("interrupted", RESUMES)
        failed.append(
            _entry(run_id, kind, status, reason, str(path), record.get("science", {}), record.get("label", ""))
        )
    return finished + failed


def _at(progress: dict[str, Any]) -> str:
    """The progress of a running job, and its process."""
    if not progress.get("total"):
        return ""
    at = f"{progress['done']:,}/{progress['total']:,} {progress['stage']}"
    return f"{at}, process {progress['pid']} on {progress['host']}"
