"""Joins the records of a study: everything that any command has requested of it, in the order of the study.

A study may gain variants, measurements, milestones and seeds, and change its texts, claims and published values. With
another baseline, other code, or another definition of a variant or measurement it is another study, and needs another
name or another store. Results on other text, on other examples of a task, or with steps that another machine timed have
a record of their own.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from bertlab.errors import BadInput
from bertlab.names import filename
from bertlab.recipe.identity import canonical
from bertlab.store.commands import line
from bertlab.store.config import write_configs
from bertlab.store.record import AblateRequest, Record, Row, Value, short_hash
from bertlab.store.records import write as write_record
from bertlab.store.runs import Store
from bertlab.store.schema import to_json


def save_records(store: Store, records: Iterable[Record]) -> list[Record]:
    """Joins records with those of the store, and returns the joined ones. Raises `BadInput` as `merge_into` does.

    Writes each record and, beside it, the files that repeat its commands, with the study file (see `store/config.py`).
    """
    with store.locks.exclusive():
        after, names = merged(store, [*records])
        for name in names:
            write_record(store.root, name, after[name])
            write_configs(store.root, name, after[name])
    return [after[name] for name in names]


def merged(store: Store, records: Collection[Record]) -> tuple[dict[str, Record], list[str]]:
    """The records of the store after `records` joined them, and the names of these; writes nothing.

    Raises `BadInput` if the store holds another study with the name of a record.
    """
    stored = store.records(needed=[record.study for record in records])
    return stored, [merge_into(stored, record, f"'{store.root}'") for record in records]


def merge_into(stored: dict[str, Record], record: Record, where: str) -> str:
    """Adds a record to the `stored` ones, joined with that of its setting if there is one, and returns its name.

    Raises `BadInput` if the stored ones, which are in `where`, contain another study with its name.
    """
    for other in stored.values():
        if other.study == record.study and (difference := _incompatible(other, record)):
            there = f"{where} (`{line(other.requests)}`)"
            raise BadInput(
                f"study '{record.study}' is not the study with that name in {there}: {difference}; "
                "give it another name, or name another store with --runs"
            )
    for name, other in stored.items():
        if _same_setting(other, record):
            stored[name] = _merge(other, record)
            return name
    name = name_of(record)
    stored[name] = record
    return name


def name_of(record: Record) -> str:
    """The file name of a new record: study, scale, and eight digits of its setting."""
    setting: list[Any] = [record.setting, _contents(record)]
    digits = short_hash(setting if record.timed is None else [*setting, record.timed])
    return filename(f"{record.study}--{record.scale}--{digits}")


def _contents(record: Record) -> dict[str, str]:
    """The version of the examples of each measurement."""
    return {value.measurement: value.content for value in record.cells}


def _same_setting(one: Record, two: Record) -> bool:
    """Whether two records are of one setting, and their values can be joined.

    They cannot if a measurement has other examples in them, or a variant other timed steps.
    """
    pairs = ((_contents(one), _contents(two)), (one.timed or {}, two.timed or {}))
    agree = all(ours[name] == theirs[name] for ours, theirs in pairs for name in ours.keys() & theirs.keys())
    return one.key == two.key and agree


def _incompatible(old: Record, new: Record) -> str:
    """Why two records with one name belong to different studies; empty if they belong to the same."""
    before, after = old.definition, new.definition
    if before.baseline != after.baseline:
        return f"its baseline is '{after.baseline}', not '{before.baseline}'"
    if before.code != after.code:
        return "its file contains other code"
    for kind in ("variant", "measurement"):
        ours, theirs = (getattr(definition, f"{kind}s") for definition in (before, after))
        for name in ours.keys() & theirs.keys():
            if ours[name] != theirs[name]:
                return f"its {kind} '{name}' has another definition"
    if _same_setting(old, new):
        runs = {value.key: value.run_id for value in old.cells}
        for value in new.cells:
            if runs.get(value.key, value.run_id) != value.run_id:
                why = "the study varies other fields, or its scale is another"
                return f"its variant '{value.variant}' has other runs: {why}"
    return ""


def _merge(old: Record, new: Record) -> Record:
    """The record of two commands: the texts of the newer one, the values of both."""
    variants = {**new.definition.variants, **old.definition.variants, **new.definition.variants}
    measurements = {**new.definition.measurements, **old.definition.measurements, **new.definition.measurements}
    rank = {name: position for position, name in enumerate(variants)}
    column = {name: position for position, name in enumerate(measurements)}

    def by_row(row: Row | Value) -> tuple[int, int]:
        return rank.get(row.variant, len(rank)), row.pretrain_seed  # "no pre-training" is last

    def by_value(value: Value) -> tuple[Any, ...]:
        return *by_row(value), column.get(value.measurement, 0), value.milestone, value.finetune_seed

    rows = {(row.variant, row.pretrain_seed): row for row in (*old.rows, *new.rows)}
    values = {value.key: value for value in (*old.cells, *new.cells)}.values()
    published = {value.column: value.published for value in new.cells}
    stated = {"", *(value.measurement for value in new.cells), *(difference.on for difference in new.differences)}
    differences = [*new.differences, *(difference for difference in old.differences if difference.on not in stated)]
    requests, name = _requests(old, new), new.name or old.name
    looks = [record.sequential for record in (old, new) if record.sequential is not None]
    return replace(
        new,
        definition=replace(new.definition, variants=variants, measurements=measurements),
        requests=requests,
        sources=(*old.sources, *(files for files in new.sources if files not in old.sources)),
        differences=tuple(sorted(differences, key=lambda difference: column.get(difference.on, -1))),
        name=name,
        command=line(requests, name),
        intermediate_task={**old.intermediate_task, **new.intermediate_task},
        tries=tuple(sorted({*old.tries, *new.tries})),
        members=tuple(sorted({*old.members, *new.members})),
        speeds=next((record.speeds for record in (new, old) if record.speeds and record.speeds.measured), new.speeds),
        rows=tuple(sorted(rows.values(), key=by_row)),
        cells=tuple(
            replace(value, published=published.get(value.column, value.published))
            for value in sorted(values, key=by_value)
        ),
        # of looks at the same seeds, those that went on
        sequential=max(looks, key=lambda looked: (len(looked.looks), canonical(to_json(looked))), default=None),
    )


def _requests(old: Record, new: Record) -> tuple[AblateRequest, ...]:
    """The fewest commands that request all values of two records; commands that differ in seeds become one."""
    before, after = ({value.key for value in record.cells} for record in (old, new))
    if before <= after:  # of equal ones the newer, whose texts and study file the record has
        return new.requests
    if after <= before:
        return old.requests
    seeds: dict[AblateRequest, set[int]] = {}
    for request in (*old.requests, *new.requests):
        seeds.setdefault(replace(request, seeds=()), set()).update(request.seeds)
    return tuple(replace(request, seeds=tuple(sorted(numbers))) for request, numbers in seeds.items())
