"""Addresses of runs: `STUDY/VARIANT/SEED`, and `STUDY/VARIANT/SEED/MEASUREMENT` for measurements of a pre-training.

They follow from the records of studies, so that runs which several studies share have an address in each of them. A
measurement before the end of the pre-training has a suffix such as `/50%`, a further fine-tuning seed one such as
`/finetune1`. `STUDY@SCALE` names a study at one scale.
"""

import re
from collections.abc import Iterable, Iterator

from bertlab.store.record import Record


def by_address(records: Iterable[Record]) -> dict[str, set[str]]:
    """The ids of the runs at each address; several where a store has a study in several settings."""
    ids_by_address: dict[str, set[str]] = {}
    for record in records:
        for study in (record.study, f"{record.study}@{record.scale}"):
            for address, run_id in _addresses(record, study):
                ids_by_address.setdefault(address, set()).add(run_id)
    return ids_by_address


def of_runs(records: Iterable[Record]) -> dict[str, list[str]]:
    """The addresses of each run that name it alone, without the scale where it is not needed."""
    addresses_by_run: dict[str, list[str]] = {}
    ids_by_address = by_address(records)
    for address, ids in ids_by_address.items():
        study, _, rest = address.partition("/")
        if len(ids) == 1 and ("@" not in study or len(ids_by_address[f"{study.rpartition('@')[0]}/{rest}"]) > 1):
            addresses_by_run.setdefault(next(iter(ids)), []).append(address)
    return addresses_by_run


def find(text: str, records: Iterable[Record]) -> set[str]:
    """The ids of the runs at an address as written, else of those that differ in case and punctuation only."""
    ids_by_address = by_address(records)
    if text in ids_by_address:
        return ids_by_address[text]
    return {run_id for address, ids in ids_by_address.items() if slug(address) == slug(text) for run_id in ids}


def shown(label: str, addresses: Iterable[str]) -> str:
    """The address of a run with this label for a list: of the study that the label names, else the first."""
    wanted, candidates = slug(label.replace("-seed", "-")), [*addresses]
    return next((address for address in candidates if slug(address) == wanted), candidates[0] if candidates else label)


def slug(text: str) -> str:
    """`text` in lower case with a hyphen for each other sequence of characters than letters and digits."""
    return re.sub(r"[\W_]+", "-", text.lower()).strip("-")


def run_ids(record: Record) -> set[str]:
    """The ids of all runs that a record needs."""
    ids = {*record.tries, *record.members, *(value.run_id for value in record.cells)}
    return ids.union(*({row.pretrain_id, row.corpus_id} for row in record.rows)) - {""}


def _addresses(record: Record, study: str) -> Iterator[tuple[str, str]]:
    for row in record.rows:
        yield f"{study}/{row.variant}/{row.pretrain_seed}", row.pretrain_id
    for value in record.cells:
        if value.run_id == value.pretrain_id:
            continue
        address = f"{study}/{value.variant}/{value.pretrain_seed}/{value.measurement}"
        address += f"/{value.milestone}%" if value.milestone < 100 else ""
        yield address + (f"/finetune{value.finetune_seed}" if value.finetune_seed else ""), value.run_id
