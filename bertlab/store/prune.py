"""What of a store nobody asks for: neither a record of a study, ever, nor a command that is at work."""

from __future__ import annotations

from collections.abc import Iterator

from bertlab.store.runs import Store


def prune(store: Store) -> tuple[int, int]:
    """Removes finished runs that nobody asks for, unfinished ones alike, and what killed and damaged runs have left.

    Returns how many finished and unfinished ones that were. Waits for a command that changes records or prunes too.
    Raises `BadInput` if a record cannot be read: what it asks for is not known.
    """
    with store.changing():
        runs = store.runs()
        wanted = {*_wanted(store), *store.asked()}
        wanted |= {run.science()["corpus"] for run in runs if run.kind == "pretrain" and run.id in wanted}
        unwanted = [run for run in runs if run.id not in wanted]
        unwanted += [run for run, _ in store.damaged() if run.id not in wanted]
        store.remove(unwanted)
        store.clear()
        left = 0
        for kind, run_id, _ in store.unfinished():
            if run_id in wanted:
                continue
            with store.claimed(run_id) as claim:
                if claim is not None:
                    store.discard(kind, run_id)
                    left += 1
    return len(unwanted), left


def _wanted(store: Store) -> Iterator[str]:
    """Ids of runs that a record asks for."""
    for record in store.records().values():
        yield from record.get("tries", ())
        for each in (*record["rows"], *record["cells"]):
            yield from (each[name] for name in ("pretrain_id", "run_id", "corpus_id") if each.get(name))
