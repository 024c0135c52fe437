"""A study at one scale on one corpus, with its pre-trainings and its values, finished or not."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from bertlab.lab.claim import GUESS
from bertlab.recipe.objective import Premise
from bertlab.report import numerics
from bertlab.report.cells import Cell, Pretraining
from bertlab.report.originals import originals as same_runs
from bertlab.report.predictions import Predictions
from bertlab.report.section import Section
from bertlab.report.units import less_is_better


@dataclass(frozen=True, kw_only=True)
class Results(Section):
    """A study at one scale on one corpus: its record, and what is finished of it."""

    cells: tuple[Cell, ...]
    pretrainings: tuple[Pretraining, ...]
    predictions: Predictions = field(repr=False)

    @cached_property
    def variants(self) -> list[str]:
        """Names of the variants, in the order of the study."""
        return list(dict.fromkeys(each.variant for each in (*self.pretrainings, *self.cells)))

    def of(self, variant: str) -> list[Pretraining]:
        """The finished pre-trainings of a variant, by seed."""
        return [each for each in self.pretrainings if each.variant == variant and each.finished]

    def untrained(self, variant: str) -> bool:
        """Whether a variant has no pre-training."""
        return any(each.untrained for each in self.of(variant))

    @cached_property
    def others(self) -> list[str]:
        """The pre-trained variants but the baseline."""
        return [each for each in self.variants if each != self.baseline and not self.untrained(each)]

    @cached_property
    def unlearned(self) -> frozenset[str]:
        """The variants with a model that learned nothing in pre-training."""
        return frozenset(each.variant for each in self.pretrainings if each.learned_nothing)

    @cached_property
    def trained(self) -> dict[str, list[str]]:
        """Variants with a pre-training of their own, each with those that share it."""
        known = {name: {run.seed: run.id for run in self.pretrainings if run.variant == name} for name in self.variants}
        owners = same_runs(known)
        return {
            owner: [each for each in self.variants if owners[each] == owner != each]
            for owner in self.variants
            if owners[owner] == owner
        }

    def premises(self, variant: str) -> Sequence[Premise]:
        """What has to hold of a variant before it is compared with another objective."""
        return next((each.premises for each in self.of(variant) if not each.untrained), ())

    def before(self, day: str) -> bool:
        """Whether one of its runs began on a day such as `2026-11-29`, earlier, or on an unknown day."""
        runs = [*self.pretrainings, *self.cells]
        return any(each.date <= day for each in runs if each.status in ("done", "collapsed"))

    def originals(self, measurement: str = "") -> dict[str, str]:
        """By variant, the one with the same runs on a measurement, or on all: itself, or that with the most seeds."""
        known: dict[str, dict[tuple[object, ...], str]] = {name: {} for name in self.variants}
        for cell in self.cells:
            if measurement in ("", cell.measurement):
                place = cell.measurement, cell.milestone, cell.pretrain_seed, cell.finetune_seed
                known[cell.variant][place] = cell.run_id
        return same_runs(known)

    @cached_property
    def duplicates(self) -> dict[str, str]:
        """Variants whose runs are all those of another variant, with its name."""
        return {variant: original for variant, original in self.originals().items() if variant != original}

    @property
    def meanings(self) -> list[str]:
        """How to read the figures of the losses of all objectives."""
        return list(dict.fromkeys(meaning for run in self.pretrainings for meaning in run.meanings if meaning))

    @cached_property
    def heldout_metrics(self) -> dict[str, str]:
        """The label of each metric of the held-out evaluations, by name."""
        labels = {name: label for run in self.pretrainings for name, label in run.labels.items()}
        measured = [name for run in self.pretrainings for name in run.result.heldout]
        measured += [name for run in self.pretrainings for point in run.curve for name in point.losses]
        return {name: labels.get(name, name) for name in measured if not name.endswith("_majority")}

    @cached_property
    def measurements(self) -> list[str]:
        """Names of the measurements, in the order of the study."""
        return list(dict.fromkeys(cell.measurement for cell in self.cells))

    @cached_property
    def repeats(self) -> dict[str, str]:
        """Measurements whose values are all those of another, with its name: tasks with one synthetic counterpart."""
        values: dict[str, set[tuple[object, ...]]] = {name: set() for name in self.measurements}
        for cell in self.cells:
            values[cell.measurement].add((cell.run_id, cell.milestone, cell.split, cell.metric))
        found: dict[str, str] = {}
        for place, (name, own) in enumerate(values.items()):
            for other, (owner, known) in enumerate(values.items()):
                if own < known or (own == known and other < place):
                    found.setdefault(name, owner)
        return found

    @property
    def distinct(self) -> list[str]:
        """The measurements that repeat no other."""
        return [name for name in self.measurements if name not in self.repeats]

    @cached_property
    def unfinished(self) -> list[Cell]:
        """Cells without a value."""
        return [cell for cell in self.cells if cell.value is None]

    @property
    def started(self) -> bool:
        """Whether anything of it is finished."""
        return any(each.finished for each in self.pretrainings) or len(self.unfinished) < len(self.cells)

    @cached_property
    def _columns(self) -> dict[tuple[str, int], list[Cell]]:
        """The cells by measurement and milestone."""
        found: dict[tuple[str, int], list[Cell]] = {}
        for cell in self.cells:
            found.setdefault((cell.measurement, cell.milestone), []).append(cell)
        return found

    @cached_property
    def _places(self) -> dict[tuple[str, str, int], list[Cell]]:
        """The cells by variant, measurement and milestone."""
        found: dict[tuple[str, str, int], list[Cell]] = {}
        for cell in self.cells:
            found.setdefault((cell.variant, cell.measurement, cell.milestone), []).append(cell)
        return found

    def column(self, measurement: str, at: int = 100) -> list[Cell]:
        """The cells of a measurement after `at` per cent of the pre-training's steps."""
        return [*self._columns.get((measurement, at), ())]

    def dataset(self, measurement: str) -> str:
        """The data set of a measurement; empty without cells."""
        return next((cell.dataset for cell in self.column(measurement)), "")

    def stand_in(self, measurement: str) -> str:
        """The data set that stands in for the task's own in a measurement; empty if its own does."""
        tasks = [cell.task for cell in self.column(measurement)]
        name = next((self.substitutes[task] for task in tasks if task in self.substitutes), "")
        return name if {"/", " "} & {*name} else name.upper()  # bc5cdr is BC5CDR

    def head(self, measurement: str) -> str:
        """The measurement as the head of its column, with the data set that stands in: `NER (BC5CDR)`."""
        other = self.stand_in(measurement)
        return f"{measurement} ({other})" if other else measurement

    def less_is_more(self, measurement: str) -> bool:
        """Whether less is better in a measurement, by its metric."""
        return any(less_is_better(cell.metric) for cell in self.column(measurement))

    def at(self, variant: str, measurement: str, at: int = 100) -> list[Cell]:
        """The cells of a variant and a measurement, over pre-training and fine-tuning seeds."""
        return [*self._places.get((variant, measurement, at), ())]

    def milestones(self, variant: str, measurement: str) -> list[int]:
        """The percentages of the steps after which a variant has a value on a measurement."""
        cells = [cell for cell in self.cells if (cell.variant, cell.measurement) == (variant, measurement)]
        return sorted({cell.milestone for cell in cells if cell.value is not None})

    def collapsed(self, variant: str, measurement: str, at: int = 100) -> list[Cell]:
        """The measured cells that predict one answer for all examples."""
        cells = self.at(variant, measurement, at)
        return [cell for cell in cells if cell.status == "collapsed" and cell.value is not None]

    def seed_of(self, cell: Cell) -> int:
        """What variants are paired by: the pre-training seed, or the fine-tuning seed on a published checkpoint."""
        return cell.finetune_seed if self.pretrained else cell.pretrain_seed

    def by_seed(
        self, variant: str, measurement: str, at: int = 100, without: Collection[int] = ()
    ) -> dict[int, list[Cell]]:
        """The cells of a variant and a measurement that have a value, by seed; of `GUESS`, those of a guess."""
        cells = self.at(variant, measurement, at)
        if variant == GUESS and variant not in self.variants:
            by_seed = {self.seed_of(cell): [cell] for cell in self.column(measurement, at) if GUESS in cell.floors}
            return at_floor({seed: guess for seed, guess in by_seed.items() if seed not in without}, GUESS)
        found: dict[int, list[Cell]] = {}
        for cell in cells:
            if cell.value is not None and self.seed_of(cell) not in without:
                found.setdefault(self.seed_of(cell), []).append(cell)
        return found

    def of_pretraining(self, measurement: str) -> bool:
        """Whether a measurement is of the pre-training itself, not of a task."""
        return any(cell.of_pretraining for cell in self.column(measurement))

    @cached_property
    def numerics_mismatch(self) -> dict[str, str]:
        """Variants with other numerics than the baseline, with what differs (see `numerics.mismatch`)."""
        return numerics.mismatch(self.baseline, self.variants, self.pretrainings, self.cells)


def at_floor(by_seed: Mapping[int, Sequence[Cell]], floor: str) -> dict[int, list[Cell]]:
    """The same cells with the value of one of their floors, and without predictions."""
    at = {seed: [cell for cell in cells if floor in cell.floors] for seed, cells in by_seed.items()}
    return {
        seed: [replace(cell, value=cell.floors[floor], run_id="", seconds=0.0) for cell in cells]
        for seed, cells in at.items()
        if cells
    }
