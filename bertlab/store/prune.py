"""Removes runs that belong to no study, keep no fine-tuned model and are no first steps of a study that goes on."""

from bertlab.store import addresses, locks
from bertlab.store.runs import Store
from bertlab.store.schema import is_id
from bertlab.store.writes import remove


def prune(store: Store) -> tuple[int, int]:
    """Removes finished and unfinished runs that no record, no running command and no fine-tuned model that was kept
    needs, and remains of killed runs. Trunks, which records do not name, stay as long as a record lacks runs.

    Returns the numbers of removed finished and unfinished runs. Waits for commands that change records or prune. Raises
    `BadInput` if a record cannot be read, because the runs that it needs are then unknown.
    """
    with store.locks.exclusive():
        runs, needed = store.runs(), store.locks.reserved_ids()
        for record in store.records().values():
            needed |= addresses.run_ids(record)
        needed |= {run.id for run in runs if run.holds_task_model}
        if needed - {run.id for run in runs}:
            needed |= {run.id for run in runs if run.holds_state}
        made_from = {run.id: {value for value in run.definition().values() if is_id(value)} for run in runs}
        while more := set().union(*(made_from.get(run_id, ()) for run_id in needed)) - needed:
            needed |= more
        unneeded = [run for run in (*runs, *(run for run, _ in store.damaged())) if run.id not in needed]
        store.remove(unneeded)
        store.sweep()
        folders = [store.root / kind for kind in store.listing.kinds()]
        remains = [path for folder in folders for path in folder.glob(".*.damaged")]
        copies = [path for folder in folders for path in folder.glob(".*.merged")]  # a merge may be at work
        remains += [path for path in copies if not store.locks.has(path.name[1:].removesuffix(".merged"))]
        unfinished = store.unfinished()
        if not any(active for _, _, active in unfinished):  # else a group may still use them
            remains += store.locks.scratch.glob("group.*")
        for path in remains:
            remove(store.root, path.relative_to(store.root).as_posix())
        for path in store.locks.scratch.glob("asks.*"):
            if not locks.is_locked(path):
                remove(store.root, f".locks/{path.name}")
        discarded = 0
        for kind, run_id, _ in unfinished:
            if run_id not in needed:
                with store.locks.run(run_id) as lock:
                    if lock is not None:
                        store.discard(kind, run_id)
                        discarded += 1
    return len(unneeded), discarded
