"""Anyone's numbers as the results of a study: a table with a value for each variant and seed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bertlab.errors import BadInput, unknown
from bertlab.hypotheses.decision import UNNAMED
from bertlab.lab.claim import Claim
from bertlab.names import plain, shown
from bertlab.report.cells import Cell
from bertlab.report.predictions import Predictions
from bertlab.report.statistics.effects import LEVEL
from bertlab.report.study_results import StudyResults
from bertlab.store.record import Definition, Record, Sequential
from bertlab.store.result import Environment, Result, Rows
from bertlab.tasks.metrics import Mean
from bertlab.wording import join_words, pluralise

NEEDED = ("variant", "seed", "value")
"""The columns of every table; others that are read are `measurement`, `example` and `look`."""
MOST_DIGITS = 6

Run = tuple[str, str, int]
"""A variant, a measurement and a seed."""


@dataclass(frozen=True)
class Values:
    """The values of a table."""

    name: str
    by_run: Mapping[Run, Mapping[str, float]]
    """The value of each run on each example; on one without a name if there are no examples."""
    looks: Mapping[Run, int]
    """The number of the look that each run was there for first."""

    @cached_property
    def variants(self) -> list[str]:
        """The variants, in the order of the table."""
        return list(dict.fromkeys(variant for variant, _, _ in self.by_run))

    @cached_property
    def measurements(self) -> list[str]:
        """The measurements, in the order of the table."""
        return list(dict.fromkeys(measurement for _, measurement, _ in self.by_run))

    def until(self, look: int) -> Values:
        """The values that were there at a look."""
        return replace(self, by_run={run: of for run, of in self.by_run.items() if self.looks[run] <= look})

    def seeds(self, variant: str, measurement: str) -> set[int]:
        """The seeds of a variant on a measurement."""
        return {seed for name, on, seed in self.by_run if (name, on) == (variant, measurement)}

    def check(self, claims: Iterable[Claim]) -> list[str]:
        """Sentences on seeds that cannot be paired.

        Raises `BadInput` for names that the table does not have, and for two variants without a seed in common.
        """
        notes = []
        for claim in claims:
            (one, two), on = claim.pairs[0], claim.on
            if on not in self.measurements:
                raise unknown("measurement", on, self.measurements)
            for name in {one, two} - {*self.variants}:
                raise unknown("variant", name, self.variants)
            seeds = {name: self.seeds(name, on) for name in (one, two)}
            if not seeds[one] & seeds[two]:
                raise BadInput(f"{one} and {two} have no seed in common on {on}: variants are compared seed by seed")
            for name, other in ((one, two), (two, one)):
                if alone := sorted(seeds[name] - seeds[other]):
                    seeds_alone = f"seed{'s' * (len(alone) > 1)} {join_words(map(str, alone))}"
                    notes.append(f"Not compared: {seeds_alone} of {name} on {on}, which {other} lacks.")
        return list(dict.fromkeys(notes))


def read(source: Any) -> Values:
    """The values of a file (`.csv`, `.tsv`, `.jsonl` or `.parquet`) or of a DataFrame.

    Raises `BadInput` that names the row for a missing or a repeated value, one that is no number, and runs with other
    examples than the first.
    """
    from bertlab.text import rows

    if not isinstance(source, str | Path):
        if not source.columns.is_unique:
            twice = shown(source.columns[source.columns.duplicated()][0])
            raise BadInput(f"table has the column {twice} twice: leave one")
        return _values("table", source.astype(object).where(source.notna(), None).to_dict("records"))
    path = Path(source)
    if not path.name.endswith(rows.SUFFIXES):
        raise BadInput(f"'{path}' is not named as a table: give a file whose name ends with {', '.join(rows.SUFFIXES)}")
    return _values(path.name, rows.read(path, quoted=True))


def _values(name: str, rows: Iterable[Mapping[str, Any]]) -> Values:
    by_run: dict[Run, dict[str, float]] = {}
    looks: dict[Run, int] = {}
    for number, row in enumerate(rows, start=1):
        where = f"{name}, row {number}"
        texts = {column: plain(str(value)) for column, value in row.items() if value is not None}
        for column in (*NEEDED, *({"measurement", "look"} & row.keys())):
            if column not in row:
                columns = ", ".join(map(shown, row))
                raise BadInput(f"{where} has no {column}: a table needs {join_words(NEEDED)}, and this has {columns}")
            if not texts.get(column):
                raise BadInput(f"{where} has no {column}: fill it in, or leave the row out")
        measurement = texts.get("measurement", UNNAMED)
        run = texts["variant"], measurement, _whole(row["seed"], f"{where}: seed")
        example, look = str(row.get("example", "")), _whole(row.get("look", 1), f"{where}: look")
        if example in by_run.setdefault(run, {}) or looks.setdefault(run, look) != look:
            of_example = f", example {example}" if example else ""
            raise BadInput(f"{where}: {measurement} of {run[0]}, seed {run[2]}{of_example}, is there twice: leave one")
        by_run[run][example] = _number(row["value"], f"{where}: value")
    if not by_run:
        raise BadInput(f"{name} has no row: give one for each variant and seed")
    for measurement in {on for _, on, _ in by_run}:
        (first, examples), *others = [(run, of.keys()) for run, of in by_run.items() if run[1] == measurement]
        for run, of in others:
            if of != examples:
                raise BadInput(f"{name}: {measurement} of {run[0]}, seed {run[2]}, has other examples than {first[0]}")
    return Values(name, by_run, looks)


def _whole(value: Any, where: str) -> int:
    number = _number(value, where)
    if number != int(number) or not 0 <= number < 2**53:
        raise BadInput(f"{where} is {value}: give a whole number, 0 or above")
    return int(number)


def _number(value: Any, where: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not abs(number) <= 1e50:
        raise BadInput(f"{where} is {value}, which is no number")
    return number


@dataclass(frozen=True, kw_only=True)
class TableResults(StudyResults):
    """The values of a table as the results of a study, whose measurements are in a unit that only their owner knows."""

    lower: frozenset[str]
    """The measurements where less is better."""
    allowed: float = 1 - LEVEL
    """The largest chance of a wrong verdict."""

    @property
    def error(self) -> float:
        """The largest chance of a wrong verdict on its claims together."""
        return self.allowed

    @property
    def title(self) -> str:
        """What stands above its tables."""
        return pluralise(len(self.variants), "variant")

    @property
    def unit(self) -> str:
        """What n counts in a difference."""
        return "seed"

    def before(self, day: str) -> bool:
        """Whether it was begun before a rule: these values are of no store."""
        return False

    def less_is_more(self, measurement: str) -> bool:
        """Whether less is better in a measurement."""
        return measurement in self.lower

    def digits(self, measurement: str) -> int:
        """Decimals that show two digits of the spread over seeds, or over variants with one seed each."""
        return self._digits[measurement]

    @cached_property
    def _digits(self) -> dict[str, int]:
        return {name: self._digits_of(name) for name in self.measurements}

    def _digits_of(self, measurement: str) -> int:
        by_variant = [[*map(np.mean, self.points(name, measurement).values())] for name in self.variants]
        spread = max((float(np.std(values)) for values in by_variant if values), default=0.0)
        spread = spread or float(np.std(np.concatenate(by_variant)))
        return min(MOST_DIGITS, max(0, 1 - math.floor(math.log10(spread)))) if spread else 2


def results(
    values: Values,
    claims: Sequence[Claim],
    baseline: str,
    lower: Collection[str],
    sequential: Sequential | None = None,
    error: float = 1 - LEVEL,
) -> TableResults:
    """The results of the study that a table stands for; `sequential` are the looks at it so far.

    Values on the same examples are paired by example too.
    """
    predictions, cells = Predictions({}), []
    texts: dict[str, Any] = dict.fromkeys(("pretrain_id", "content", "task", "dataset", "split", "reason", "kind"), "")
    fixed = texts | {"metric": UNNAMED, "method": "pretraining", "status": "done", "milestone": 100, "finetune_seed": 0}
    fixed |= {"metrics": {}, "guesses": {}, "floors": {}, "lexical_examples": 0, "rows": Rows(), "seconds": 0.0}
    fixed |= {"result": Result(), "environment": Environment(), "published": None, "adaptation": None}
    for (variant, measurement, seed), by_example in values.by_run.items():
        run_id, scores = repr((variant, measurement, seed)), np.array([by_example[name] for name in sorted(by_example)])
        if len(by_example) > 1:
            predictions.read[run_id, "", UNNAMED] = Mean(scores), ()
        run: dict[str, Any] = {"variant": variant, "measurement": measurement, "pretrain_seed": seed, "run_id": run_id}
        cells.append(Cell(**fixed, **run, value=float(scores.mean())))
    return TableResults(
        record=_record(values.name, baseline, sequential),
        key="",
        command="",
        claims=tuple(claims),
        sizes={},
        cells=tuple(cells),
        pretrainings=(),
        predictions=predictions,
        lower=frozenset(lower),
        allowed=error,
    )


def _record(name: str, baseline: str, sequential: Sequential | None) -> Record:
    """The record of a study that has values and nothing else."""
    texts = ("setting", "question", "source", "summary", "scale", "command", "pretrained")
    lists = ("requests", "sources", "notes", "claims", "differences", "corpus", "tries", "rows", "cells")
    fields: dict[str, Any] = dict.fromkeys(texts, "") | dict.fromkeys(lists, ())
    fields |= {"substitutes": {}, "intermediate_task": {}, "searched": {}, "world": False}
    definition = Definition(baseline=baseline, code="", variants={}, measurements={})
    return Record(study=name, definition=definition, baseline=baseline, sequential=sequential, **fields)
