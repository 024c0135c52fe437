"""The values of a study, finished or not, by variant, measurement and milestone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bertlab.grouping import grouped
from bertlab.lab.claim import GUESS
from bertlab.report.cells import Cell, Pretraining
from bertlab.report.section import Section
from bertlab.report.units import less_is_better
from bertlab.store.record import StatedAverage


@dataclass(frozen=True, kw_only=True)
class StudyValues(Section):
    """A study at one scale on one corpus: its record, and what is measured of it."""

    cells: tuple[Cell, ...]
    pretrainings: tuple[Pretraining, ...]

    @cached_property
    def variants(self) -> list[str]:
        """Names of the variants, in the order of the study."""
        return list(dict.fromkeys(run.variant for run in (*self.pretrainings, *self.cells)))

    @cached_property
    def _index(self) -> dict[tuple[str | None, str, int], list[Cell]]:
        """The cells by variant, measurement and milestone, and those of all variants under None."""
        sides = [(variant, cell) for cell in self.cells for variant in (cell.variant, None)]
        return grouped(((variant, cell.measurement, cell.milestone), cell) for variant, cell in sides)

    def at(self, variant: str | None, measurement: str, at: int = 100) -> list[Cell]:
        """The cells of a variant and a measurement, over pre-training and fine-tuning seeds."""
        return self._index.get((variant, measurement, at), [])

    def column(self, measurement: str, at: int = 100) -> list[Cell]:
        """The cells of a measurement after `at` per cent of the pre-training's steps."""
        return self.at(None, measurement, at)

    @cached_property
    def measurements(self) -> list[str]:
        """Names of the measurements, in the order of the study."""
        return list(dict.fromkeys(cell.measurement for cell in self.cells))

    @cached_property
    def averages(self) -> dict[str, StatedAverage]:
        """The averages over measurements, by name."""
        return {average.name: average for average in self.record.averages}

    @cached_property
    def repeats(self) -> dict[str, str]:
        """Measurements whose values are all those of another, with its name: tasks with one synthetic counterpart."""
        values = {name: set[Any]() for name in self.measurements}
        for cell in self.cells:
            values[cell.measurement].add((cell.run_id, cell.milestone, cell.split, cell.metric))
        repeats: dict[str, str] = {}
        for position, (name, runs) in enumerate(values.items()):
            for earlier, (other, others) in enumerate(values.items()):
                if runs < others or (runs == others and earlier < position):
                    repeats.setdefault(name, other)
        return repeats

    @property
    def distinct(self) -> list[str]:
        """The measurements that repeat no other."""
        return [name for name in self.measurements if name not in self.repeats]

    @cached_property
    def unfinished(self) -> list[Cell]:
        """Cells without a value."""
        return [cell for cell in self.cells if cell.value is None]

    def milestones(self, measurement: str, variant: str | None = None) -> list[int]:
        """The percentages of the steps after which a measurement is planned, or a variant has a value on it."""
        columns = [at for name, on, at in self._index if (name, on) == (variant, measurement)]
        return sorted(at for at in columns if variant is None or self.by_seed(variant, measurement, at))

    def collapsed(self, variant: str, measurement: str, at: int = 100) -> list[Cell]:
        """The measured cells that predict one answer for all examples."""
        cells = self.at(variant, measurement, at)
        return [cell for cell in cells if cell.status == "collapsed" and cell.value is not None]

    def published(self, variant: str, measurement: str, at: int = 100) -> float | None:
        """The paper's value after `at` per cent of the steps, in points; also of an average."""
        if measurement in self.averages:
            return self.averages[measurement].published.get(variant)
        return next((cell.published for cell in self.at(variant, measurement, at) if cell.published is not None), None)

    @property
    def has_published(self) -> bool:
        """Whether the paper has a value for any cell."""
        return any(cell.published is not None for cell in self.cells)

    def seed_of(self, cell: Cell) -> int:
        """What variants are paired by: the pre-training seed, or the fine-tuning seed on a published checkpoint."""
        return cell.finetune_seed if self.pretrained else cell.pretrain_seed

    def by_seed(
        self, variant: str, measurement: str, at: int = 100, without: Collection[int] = ()
    ) -> dict[int, list[Cell]]:
        """The cells of a variant and a measurement that have a value, by seed; of `GUESS`, those of a guess."""
        guessed = variant == GUESS and variant not in self.variants
        cells = self.column(measurement, at) if guessed else self.at(variant, measurement, at)
        measured = (cell for cell in cells if guessed or cell.value is not None)
        by_seed = grouped((seed, cell) for cell in measured if (seed := self.seed_of(cell)) not in without)
        return {seed: guess[-1:] for seed, guess in at_floor(by_seed, GUESS).items()} if guessed else by_seed

    def dataset(self, measurement: str) -> str:
        """The data set of a measurement; empty without cells."""
        return next((cell.dataset for cell in self.column(measurement)), "")

    def stand_in(self, measurement: str) -> str:
        """The data set that stands in for the task's own in a measurement; empty if its own does."""
        substitutes = self.record.substitutes
        name = next((substitutes[cell.task] for cell in self.column(measurement) if cell.task in substitutes), "")
        return name if {"/", " "} & {*name} else name.upper()  # bc5cdr is BC5CDR

    def head(self, measurement: str) -> str:
        """The measurement as the head of its column, with the data set that stands in: `NER (BC5CDR)`."""
        other = self.stand_in(measurement)
        return f"{measurement} ({other})" if other else measurement

    def digits(self, measurement: str) -> int:
        """Decimals of the values of a measurement."""
        return next((cell.digits for cell in self.column(measurement)), 1)

    def less_is_more(self, measurement: str) -> bool:
        """Whether less is better in a measurement, by its metric."""
        return any(less_is_better(cell.metric) for cell in self.column(measurement))

    def of_pretraining(self, measurement: str) -> bool:
        """Whether a measurement is of the pre-training itself, not of a task."""
        return any(cell.of_pretraining for cell in self.column(measurement))

    def of_answers(self, measurement: str) -> bool:
        """Whether a measurement is of answers to a task."""
        return all(cell.of_answers for cell in self.column(measurement))


def at_floor(by_seed: Mapping[int, Sequence[Cell]], floor: str) -> dict[int, list[Cell]]:
    """The same cells with the value of one of their floors, and without predictions."""
    having = ((seed, cell) for seed, cells in by_seed.items() for cell in cells if floor in cell.floors)
    return grouped((seed, replace(cell, value=cell.floors[floor], run_id="", seconds=0.0)) for seed, cell in having)
