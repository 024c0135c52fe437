"""What changed between two states of a study, each as one store has it.

Runs of the same id are the same by construction. So a mean moves because runs came, went or were made anew, or because
the science changed: the fields of the recipes say which. Only between runs that have none in common is the difference
of two means a random one, that an interval can be given for.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bertlab.errors import BadInput
from bertlab.recipe import Features, Finetuning, Recipe
from bertlab.recipe.identity import load
from bertlab.report.cells import Cell
from bertlab.report.claims import judged
from bertlab.report.evidence import Evidence
from bertlab.report.predictions import contrast
from bertlab.report.statistics.effects import FLOOR, effect
from bertlab.report.statistics.measures import Mean
from bertlab.report.statistics.summary import Interval, Scores, summarise, welch

PRETRAINING = "pre-training"
"""What stands for a measurement where it is the pre-training itself."""
LOSS = "held-out loss"
"""The same, of the loss that judges it, in nats."""
SETTING = ("baseline", "substitutes", "first", "searched", "tries", "positions")
"""What of a record, beside rows and columns, says how a study was set up."""
END = 100
"""Per cent of the steps: the whole of a pre-training."""

Kind = Literal["row", "measurement", "runs", "mean", "verdict", "science", "setting", "numerics"]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing that is not as it was."""

    kind: Kind
    variant: str = ""
    measurement: str = ""
    milestone: int | None = None
    """Per cent of the pre-training's steps after which it was measured."""
    field: str = ""
    """The dotted path of a field, a claim, or what of the numerics."""
    old: str | float | None = None
    """None if it was not there."""
    new: str | float | None = None
    """None if it is not there any more."""
    difference: float | None = None
    """New minus old, in the unit of the measurement."""
    interval: Interval | None = None
    """Of the difference; None with fewer than `FLOOR` seeds in either, and if the two share runs."""
    n_old: int | None = None
    """Pre-training seeds."""
    n_new: int | None = None
    """Pre-training seeds; of `runs`, how many have changed so."""
    note: str = ""


def changes(old: Evidence, new: Evidence) -> list[Change]:
    """All that changed, in the order of the study; empty if nothing did."""
    return [
        *_came_and_went("row", old.variants, new.variants),
        *_came_and_went("measurement", old.measurements, new.measurements),
        *_runs(old, new),
        *_means(old, new),
        *_verdicts(old, new),
        *_setting(old, new),
        *_science(old, new),
        *_numerics(old, new),
    ]


def same_runs(old: Evidence, new: Evidence) -> set[str]:
    """The runs of the new state that the old one has too, with the same value."""
    before, after = (
        {(cell.run_id, cell.value) for cell in each.cells if cell.value is not None} for each in (old, new)
    )
    return {run_id for run_id, _ in before & after}


def _came_and_went(kind: Literal["row", "measurement"], old: list[str], new: list[str]) -> Iterator[Change]:
    for name in [*new, *(each for each in old if each not in new)]:
        if (name in old) != (name in new):
            where: dict[str, Any] = {"variant": name} if kind == "row" else {"measurement": name}
            yield Change(kind=kind, old=name if name in old else None, new=name if name in new else None, **where)


def _runs(old: Evidence, new: Evidence) -> Iterator[Change]:
    """What has become of runs, in rows and columns that both have; alike ones together."""
    before, after = _fates(old), _fates(new)
    found: dict[tuple[str, str, str | None, str | None], list[int]] = {}
    for key in [*after, *(each for each in before if each not in after)]:
        variant, measurement, _, seed, _ = key
        known = variant in old.variants and variant in new.variants
        if measurement != PRETRAINING:
            known = known and measurement in old.measurements and measurement in new.measurements
        if known and before.get(key) != after.get(key):
            found.setdefault((variant, measurement, before.get(key), after.get(key)), []).append(seed)
    for (variant, measurement, was, is_), seeds in found.items():
        named = sorted(set(seeds))
        note = f"seed{'s' if len(named) > 1 else ''} {', '.join(map(str, named))}"
        yield Change(
            kind="runs", variant=variant, measurement=measurement, old=was, new=is_, n_new=len(seeds), note=note
        )


def _fates(evidence: Evidence) -> dict[tuple[str, str, int, int, int], str]:
    """By row, column, milestone, seed and restart."""
    fates = {(each.variant, PRETRAINING, END, each.seed, 0): each.fate for each in evidence.pretrainings}
    for cell in evidence.cells:
        fates[(cell.variant, cell.measurement, cell.milestone, cell.pretrain_seed, cell.restart)] = cell.fate
    return fates


def _means(old: Evidence, new: Evidence) -> Iterator[Change]:
    """Means over the same data, of rows and columns that both have, that moved."""
    before, after = _columns(old), _columns(new)
    for key in (each for each in after if each in before):
        variant, measurement, milestone = key[:3]
        yield from _moved(
            Change(kind="mean", variant=variant, measurement=measurement, milestone=milestone),
            {(old.seed_of(cell), cell.run_id): cell.value or 0.0 for cell in before[key]},
            {(new.seed_of(cell), cell.run_id): cell.value or 0.0 for cell in after[key]},
            ((old, before[key]), (new, after[key])),
        )
    for variant in new.variants:
        losses = [
            {(each.seed, each.id): each.loss for each in state.of(variant) if each.loss is not None}
            for state in (old, new)
        ]
        if all(losses):
            where = Change(kind="mean", variant=variant, measurement=LOSS, milestone=END)
            yield from _moved(where, losses[0], losses[1], None)


_Column = tuple[str, str, int, str, str, str]
"""Row, column and milestone; data set, split and metric, without which two means are not of one kind."""


def _columns(evidence: Evidence) -> dict[_Column, list[Cell]]:
    found: dict[_Column, list[Cell]] = {}
    for cell in evidence.cells:
        if cell.value is not None:
            key = (cell.variant, cell.measurement, cell.milestone, cell.dataset, cell.split, cell.metric)
            found.setdefault(key, []).append(cell)
    return found


def _moved(
    where: Change,
    before: Mapping[tuple[int, str], float],
    after: Mapping[tuple[int, str], float],
    cells: tuple[tuple[Evidence, list[Cell]], tuple[Evidence, list[Cell]]] | None,
) -> Iterator[Change]:
    """The change of a mean of values by seed and run; `cells` are those that predictions can be read of."""
    old, new = (summarise(_scores(each)) for each in (before, after))
    assert old is not None
    assert new is not None
    shared = before.items() & after.items()
    if old.mean == new.mean:
        return
    yield dataclasses.replace(
        where,
        old=old.mean,
        new=new.mean,
        difference=new.mean - old.mean,
        interval=None if shared or min(old.seeds, new.seeds) < FLOOR else _interval(before, after, cells),
        n_old=old.seeds,
        n_new=new.seeds,
        note=_why(before, after, len(shared)),
    )


def _interval(
    before: Mapping[tuple[int, str], float],
    after: Mapping[tuple[int, str], float],
    cells: tuple[tuple[Evidence, list[Cell]], tuple[Evidence, list[Cell]]] | None,
) -> Interval | None:
    """Of the difference of two means without a run in common: paired if the seeds are the same, else Welch's."""
    old, new = _scores(before).seed_means(), _scores(after).seed_means()
    if old.keys() != new.keys():
        return welch([*new.values()], [*old.values()])
    if cells is None:
        found = effect(*({seed: [Mean(np.array([value]))] for seed, value in each.items()} for each in (new, old)))
    else:
        found = contrast(cells[1], cells[0])
    return None if found is None else found.interval


def _scores(values: Mapping[tuple[int, str], float]) -> Scores:
    by_seed: dict[int, list[float]] = {}
    for (seed, _), value in values.items():
        by_seed.setdefault(seed, []).append(value)
    return Scores(by_seed)


def _why(before: Mapping[tuple[int, str], float], after: Mapping[tuple[int, str], float], shared: int) -> str:
    """What the two means are made of."""
    anew = len(before.keys() & after.keys()) - shared
    parts = (
        (shared, "the same"),
        (anew, "of the same science made anew"),
        (len(after.keys() - before.keys()), "new"),
        (len(before.keys() - after.keys()), "gone"),
    )
    told = [f"{count} {what}" for count, what in parts if count]
    return f"runs: {', '.join(told)}"


def _verdicts(old: Evidence, new: Evidence) -> Iterator[Change]:
    before, after = ({(each.claim.text, each.claim.on): each for each in judged(state)} for state in (old, new))
    for key in [*after, *(each for each in before if each not in after)]:
        was, is_ = before.get(key), after.get(key)
        if was is None or is_ is None or was.outcome != is_.outcome:
            effects = [None if each is None else each.effect for each in (was, is_)]
            n_old, n_new = (None if each is None else each.n for each in effects)
            measured = [f"{each.mean:+.2f}" for each in effects if each is not None]
            yield Change(
                kind="verdict",
                measurement=key[1],
                field=key[0],
                old=None if was is None else was.outcome,
                new=None if is_ is None else is_.outcome,
                n_old=n_old,
                n_new=n_new,
                note=" → ".join(measured),
            )


def _setting(old: Evidence, new: Evidence) -> Iterator[Change]:
    for name in SETTING:
        was, is_ = old.record.get(name) or None, new.record.get(name) or None
        if was != is_:
            yield Change(kind="setting", field=name, old=_text(was), new=_text(is_))


def _science(old: Evidence, new: Evidence) -> Iterator[Change]:
    """The fields in which runs of the same row, column and seeds differ; each once for a row and a column."""
    found: Counter[tuple[str, str, str, str | None, str | None]] = Counter()
    trained = {(each.variant, each.seed): each for each in old.pretrainings}
    for each in new.pretrainings:
        was = trained.get((each.variant, each.seed))
        if was is not None and was.id != each.id:
            found.update(
                (each.variant, PRETRAINING, *field)
                for field in _differences((was.id, _recipe(was.science)), (each.id, _recipe(each.science)))
            )
    measured = {_place(cell): cell for cell in old.cells if cell.method != "pretraining"}
    for cell in new.cells:
        before = measured.get(_place(cell))
        if before is not None and before.run_id != cell.run_id:
            one, two = _measured(old, before), _measured(new, cell)
            if not one or not two or one == two:  # the pre-training, its text or what is to come has other ids
                continue
            found.update(
                (cell.variant, cell.measurement, *field)
                for field in _differences((before.run_id, one), (cell.run_id, two))
            )
    for (variant, measurement, field, was_, is_), count in found.items():
        yield Change(
            kind="science", variant=variant, measurement=measurement, field=field, old=was_, new=is_, n_new=count
        )


def _place(cell: Cell) -> tuple[str, str, int, int, int]:
    return cell.variant, cell.measurement, cell.milestone, cell.pretrain_seed, cell.restart


def _differences(
    old: tuple[str, dict[str, str]], new: tuple[str, dict[str, str]]
) -> list[tuple[str, str | None, str | None]]:
    """Fields with their values; where none tells two ids apart, or a run is not finished, the ids."""
    (old_id, before), (new_id, after) = old, new
    if before and after:
        names = [*after, *(name for name in before if name not in after)]
        found = [(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)]
        # The id of the text follows from its fields; where they are the same, the code that reads it is not.
        fields = [each for each in found if each[0] != "text"]
        if found:
            return fields or found
    return [("id", old_id, new_id)]


def _recipe(science: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a pre-training by dotted path, defaults included; empty if it is not finished."""
    fields = {"text" if name == "corpus" else name: value for name, value in science.items() if name != "recipe"}
    return _flat({**fields, **_full(Recipe, science.get("recipe", {}))}) if science else {}


def _measured(evidence: Evidence, cell: Cell) -> dict[str, str]:
    """The fields of a measurement by dotted path, without the pre-training's; empty if it is not finished."""
    run = evidence.predictions.runs.get(cell.run_id)
    if run is None:
        return {}
    science = {name: value for name, value in run.science().items() if name != "pretrain"}
    settings = _full(Features if run.kind == "features" else Finetuning, science.get("settings", {}))
    return _flat({**science, "settings": settings})


def _full(kind: type, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a recipe with those at their defaults; as they are, if another version of the code wrote them."""
    try:
        found: dict[str, Any] = dataclasses.asdict(load(kind, fields))
    except (BadInput, TypeError):
        return dict(fields)
    return found


def _flat(value: Any, path: str = "") -> dict[str, str]:
    """Values as text by their dotted paths."""
    if isinstance(value, Mapping | list | tuple) and value:
        items: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, Mapping) else enumerate(value)
        return {name: text for key, item in items for name, text in _flat(item, f"{path}.{key}").items()}
    return {path.removeprefix("."): _text(value) or ""}


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, sort_keys=True)


def _numerics(old: Evidence, new: Evidence) -> Iterator[Change]:
    before, after = _stamps(old), _stamps(new)
    for name in [*after, *(each for each in before if each not in after)]:
        if before.get(name) != after.get(name):
            was, is_ = (" and ".join(sorted(each[name])) if name in each else None for each in (before, after))
            yield Change(kind="numerics", field=name, old=was, new=is_)


def _stamps(evidence: Evidence) -> dict[str, set[str]]:
    """What runs were computed on and with: the values that occur, by name."""
    found: dict[str, set[str]] = {}
    stamps = [(*each.numerics, *each.host, *each.software) for each in evidence.pretrainings]
    for name, value in (pair for stamp in (*stamps, *(cell.numerics for cell in evidence.cells)) for pair in stamp):
        found.setdefault(name, set()).add(value)
    return found
