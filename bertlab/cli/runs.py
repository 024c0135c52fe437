"""`bertlab runs`: what is finished, running or failed; and removing it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bertlab.cli.console import console, exit_codes, print_json, say
from bertlab.cli.options import Json, Runs


@exit_codes
def runs(
    runs: Runs = Path("runs"),
    remove: Annotated[list[str] | None, typer.Option(help="Remove a finished run.", metavar="RUN")] = None,
    prune: Annotated[
        bool,
        typer.Option(
            help="Remove runs that no study ever asked for, finished or not, of `pretrain` and `finetune` too, and "
            "what killed and damaged runs left."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """List the runs of the store."""
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
        _draw(listed)


def _listed(store: Any) -> list[dict[str, Any]]:
    finished = [
        {
            "id": run.id,
            "kind": run.kind,
            "status": run.result().get("status", "done"),
            "reason": "",
            "path": str(run.path),
            "recipe": run.science(),
            "label": run.label,
        }
        for run in store.runs()
    ]
    failed = [
        {
            "id": record["id"],
            "kind": record.get("kind", ""),
            "status": record.get("status", "failed"),
            "reason": record.get("reason", ""),
            "path": "",
            "recipe": record.get("science", {}),
            "label": record.get("label", ""),
        }
        for record in store.failures()
    ]
    failed += [
        {
            "id": run.id,
            "kind": run.kind,
            "status": "damaged",
            "reason": f"{path.relative_to(run.path)} is not as it was: the command that made it makes it anew",
            "path": str(run.path),
            "recipe": {},
            "label": run.label,
        }
        for run, path in store.damaged()
    ]
    known = {record["id"] for record in failed}
    from bertlab.errors import BadInput
    from bertlab.store.files import read_json

    for kind, run_id, active in store.unfinished():
        if run_id in known:
            continue
        path = store.root / kind / f".{run_id}.work"
        try:
            record = read_json(path / "recipe.json", {"science": dict, "label": str})
        except BadInput:  # not there yet, or being written
            record = {}
        failed.append(
            {
                "id": run_id,
                "kind": kind,
                "status": "running" if active else "interrupted",
                "reason": _at(store.progress(run_id)) if active else "the same command goes on with it",
                "path": str(path),
                "recipe": record.get("science", {}),
                "label": record.get("label", ""),
            }
        )
    return finished + failed


def _at(told: dict[str, Any]) -> str:
    """How far a run is that somebody works on, and where."""
    if not told.get("total"):
        return ""
    return f"{told['done']:,}/{told['total']:,} {told['stage']}, process {told['pid']} on {told['host']}"


def _draw(listed: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("id", "kind", "run", "status", "reason")
    for run in listed:
        table.add_row(*(Text(str(run[name])) for name in ("id", "kind", "label", "status", "reason")))
    console().print(table)
