"""Finds the run that a user names: by its id, its label, its address (see `addresses`), or its directory."""

from collections.abc import Callable, Iterable
from pathlib import Path

from bertlab.errors import BadInput
from bertlab.names import label
from bertlab.store import addresses
from bertlab.store.files import real
from bertlab.store.run import Run
from bertlab.store.runs import Store

Among = Callable[[Run], bool]


NO_PRETRAINING = "is a measurement, not a pre-training: name the pre-training that it measures"


def find(
    store: Store,
    text: str,
    among: Among = lambda run: True,
    *,
    to_remove: bool = False,
    otherwise: str = NO_PRETRAINING,
) -> Run:
    """The finished run that `text` names: the beginning of its id, its label, address, or path of its directory.

    `otherwise` says what a run is that is not `among` those that are looked for. `to_remove` accepts only a whole id,
    label or address, and damaged runs too. Raises `BadInput` if no run matches, several do, or only a damaged one does.
    """
    runs = find_all(store, text, among, to_remove=to_remove)
    if len(runs) == 1:
        return runs[0]
    if runs:
        by_run = addresses_of(store)
        names = " or ".join(by_run.get(run.id, [run.id])[0] for run in runs)
        raise BadInput(f"run '{text}' may be {names}: give one of these")
    damaged = dict(store.damaged())
    for run in filter(among, _named(store, text, damaged, whole=to_remove)):
        raise run.damaged_by(damaged[run])
    if find_all(store, text, to_remove=to_remove):
        raise BadInput(f"'{text}' {otherwise}")
    advice = "`bertlab runs` lists them as STUDY/VARIANT/SEED, and --runs names another store"
    raise BadInput(f"there is no finished run '{text}' in '{store.root}': {advice}")


def find_all(store: Store, text: str, among: Among = lambda run: True, *, to_remove: bool = False) -> list[Run]:
    """The finished runs that `text` may name (see `find`)."""
    listed = store.listing.sealed() if to_remove else store.runs()
    runs = list(filter(among, _named(store, text, listed, whole=to_remove)))
    return [run for run in runs if run.path.name == Path(text).name] or runs


def _named(store: Store, text: str, runs: Iterable[Run], *, whole: bool) -> list[Run]:
    # a path has no address
    at_address = addresses.find(text, store.records(needed=()).values()) if text.count("/") > 1 else set()
    return [run for run in runs if run.id in at_address or _names(text, run, whole=whole)]


def _names(text: str, run: Run, *, whole: bool) -> bool:
    """Whether `text` names a run: by its label, its id (or, unless `whole`, the beginning of it), or its directory."""
    if "/" in text:
        return not whole and real(Path(text)) == real(run.path)
    if not text:
        return False
    return run.label == label(text) or text in (run.path.name, run.id) or (not whole and run.id.startswith(text))


def addresses_of(store: Store) -> dict[str, list[str]]:
    """The addresses of runs by id (see `addresses.of_runs`)."""
    return addresses.of_runs(store.records(needed=()).values())


def ids_of_studies(store: Store) -> set[str]:
    """The ids of all runs that studies have requested, finished or not."""
    return set[str]().union(*map(addresses.run_ids, store.records(needed=()).values()))
