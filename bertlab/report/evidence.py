"""What a report derives from the results of a study: means, floors, effects, and what pre-training gains."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from statistics import fmean

from bertlab.report.cells import EXCHANGED, FLOORS, Cell, printed_difference
from bertlab.report.results import Results, at_floor
from bertlab.report.statistics.effects import Effect, Summary, summarise
from bertlab.report.statistics.variance import Typical

Milestones = tuple[int, int]
"""Per cent of the pre-training's steps after which each of two variants is measured."""
Effects = dict[tuple[object, ...], Effect | None]
"""Effects by what they compare."""


@dataclass(frozen=True, kw_only=True)
class Evidence(Results):
    """A study at one scale on one corpus, with what its results say."""

    unlearned_lend: bool = False
    """Whether variants with a model that learned nothing lend variance: what a verdict would be if they did."""
    _unpooled: Effects = field(default_factory=dict, init=False, repr=False)
    _pooled: Effects = field(default_factory=dict, init=False, repr=False)
    _typical: dict[str, Typical | None] = field(default_factory=dict, init=False, repr=False)
    """The variance between seeds over all comparisons with the baseline, by metric."""

    def points(self, variant: str, measurement: str, at: int = 100) -> dict[int, list[float]]:
        """The values of a variant on a measurement, by seed."""
        cells = self.by_seed(variant, measurement, at)
        return {seed: [cell.value for cell in each if cell.value is not None] for seed, each in cells.items()}

    def measured(self, variant: str, measurements: Iterable[str]) -> dict[str, dict[int, list[Cell]]]:
        """The cells of a variant that have a value, by measurement and seed."""
        return {name: self.by_seed(variant, name) for name in measurements}

    @cached_property
    def spread_of_seeds(self) -> bool:
        """Whether standard deviations are over several seeds.

        A variant with a single seed then has none, since that of its fine-tuning seeds is of another kind.
        """
        return len({self.seed_of(cell) for cell in self.cells if cell.value is not None}) > 1

    def summary(self, variant: str, measurement: str) -> Summary | None:
        """Mean, spread and n of a variant on a measurement."""
        return summarise(self.points(variant, measurement), of_seeds=self.spread_of_seeds)

    def floors(self, measurement: str) -> dict[str, float]:
        """Points that take no understanding, by name; with an exchanged text, the baseline's."""
        found: dict[str, list[float]] = {}
        for cell in self.column(measurement):
            for name, points in cell.floors.items():
                if name != EXCHANGED or cell.variant == self.baseline:
                    found.setdefault(name, []).append(points)
        return {name: fmean(points) for name, points in found.items()}

    def lexical_examples(self, measurement: str) -> tuple[int, int]:
        """The most training examples that a model reads, and the fewest that the lexical baseline is fitted on."""
        cells = [cell for cell in self.column(measurement) if cell.lexical_examples]
        return max((cell.train_examples for cell in cells), default=0), min(
            (cell.lexical_examples for cell in cells), default=0
        )

    def above_floors(self, measurement: str) -> bool | None:
        """Whether the baseline's mean is above every floor of a measurement; None if no floor is known."""
        floors, own = self.floors(measurement), self.summary(self.baseline, measurement)
        return own.mean > max(floors.values()) if floors and own else None

    @property
    def below_floors(self) -> list[str]:
        """The measurements on which the baseline is not above every floor."""
        return [name for name in self.distinct if self.above_floors(name) is False]

    @property
    def unbeaten(self) -> list[str]:
        """The floors that the baseline is not above on some measurement, in the order of `FLOORS`."""
        found = {name: self.summary(self.baseline, name) for name in self.below_floors}
        points = [(floor, at, own) for name, own in found.items() for floor, at in self.floors(name).items()]
        return [kind for kind in FLOORS if any(floor == kind and own and own.mean <= at for floor, at, own in points)]

    def published(self, variant: str, measurement: str, at: int = 100) -> float | None:
        """The paper's value after `at` per cent of the steps, in points."""
        return next((cell.published for cell in self.at(variant, measurement, at) if cell.published is not None), None)

    @property
    def has_published(self) -> bool:
        """Whether the paper has a value for any cell."""
        return any(cell.published is not None for cell in self.cells)

    def published_difference(
        self, variant: str, measurement: str, other: str = "", at: Milestones = (100, 100)
    ) -> Decimal | None:
        """The paper's value minus that of `other`, the baseline by default; decimal, so that 84.3 - 84.2 is 0.1."""
        ours = self.published(variant, measurement, at[0])
        theirs = self.published(other or self.baseline, measurement, at[1])
        return printed_difference(ours, theirs)

    def effect(
        self,
        variant: str,
        other: str,
        measurement: str,
        *than: str,
        metric: str = "",
        at: Milestones = (100, 100),
        without: frozenset[int] = frozenset(),
    ) -> Effect | None:
        """`variant` minus `other` on a measurement, paired by seed and example as in `Predictions.effect`.

        With two variants more, that difference minus theirs. A contrast borrows no variance: it may share most of its
        runs with any comparison. `without` are seeds to leave out. All comparisons of the study together estimate the
        variance between seeds (`Typical`), each pair of runs once, without variants that are untrained or have a model
        that learned nothing: their runs may vary differently.
        """
        sides = (variant, other, *than)
        alone = self._alone(sides, measurement, metric, at, without)
        if alone is None or than or not (self._ordinary(variant) and self._ordinary(other)):
            return alone
        metric = self._beside(metric, measurement)
        key = (sides, measurement, metric, at, without)
        if key not in self._pooled:
            alike = (self._alone(sides, name, metric, at, without) for name in self.distinct)
            self._pooled[key] = alone.moderated(self._typical_of(metric), alike)
        return self._pooled[key]

    def _alone(
        self,
        variants: tuple[str, ...],
        measurement: str,
        metric: str,
        at: Milestones = (100, 100),
        without: frozenset[int] = frozenset(),
    ) -> Effect | None:
        """An effect with a variance that borrows nothing."""
        metric = self._beside(metric, measurement)
        key = (variants, measurement, metric, at, without)
        if key not in self._unpooled:
            first, other = variants[:2]
            of_floor = other in FLOORS and other not in self.variants
            runs = [
                at_floor(self.by_seed(first, measurement, at[0], without), name)
                if of_floor and name == other
                else self.by_seed(name, measurement, milestone, without)
                for name, milestone in zip(variants, (*at, *at), strict=False)
            ]
            self._unpooled[key] = self.predictions.effect(*runs, metric=metric)
        return self._unpooled[key]

    def _beside(self, metric: str, measurement: str) -> str:
        """A metric beside that of a measurement; empty for its own."""
        return "" if metric in {cell.metric for cell in self.column(measurement)} else metric

    def _typical_of(self, metric: str) -> Typical | None:
        """The variance between seeds over all comparisons with the baseline."""
        if metric not in self._typical:
            others = self.others if self._ordinary(self.baseline) else ()
            again = self.duplicates.keys() | {self.duplicates.get(self.baseline, self.baseline)}
            effects = [
                [self._alone((name, self.baseline), on, metric) for on in self.distinct]
                for name in others
                if self._ordinary(name) and name not in again
            ]
            self._typical[metric] = Typical.of([each.spread for each in row if each] for row in effects)
        return self._typical[metric]

    def _ordinary(self, variant: str) -> bool:
        """Whether the runs of a variant vary like those of others: it is trained, and each model learned something."""
        return not self.untrained(variant) and (self.unlearned_lend or variant not in self.unlearned)

    def with_all_lenders(self) -> "Evidence":
        """The same, where variants with a model that learned nothing lend variance too."""
        other = replace(self, unlearned_lend=True)
        other._unpooled.update(self._unpooled)
        return other

    def difference(self, variant: str, measurement: str, metric: str = "") -> Effect | None:
        """A variant minus the baseline on a measurement."""
        return self.effect(variant, self.baseline, measurement, metric=metric)

    @property
    def differences(self) -> list[Effect]:
        """The pre-trained variants minus the baseline, on each measurement."""
        return [each for pair in itertools.product(self.others, self.measurements) if (each := self.difference(*pair))]

    def gain(self, scratch: str, measurement: str, metric: str = "") -> float | None:
        """The baseline minus an untrained variant, paired by seed; None for a metric of the pre-training.

        In points, or in the unit of `metric`.
        """
        if self.of_pretraining(measurement):
            return None
        other = self.difference(scratch, measurement, metric)
        return None if other is None else 0.0 - other.mean  # no minus before a zero

    def unhelped(self, scratch: str, measurement: str, metric: str = "") -> str:
        """Why nothing shows that pre-training helps on a measurement, by the untrained variant; empty if it does."""
        if self.collapsed(scratch, measurement):
            return f"{scratch} predicts one answer for all examples, so the gain by pre-training is unknown"
        gain = self.gain(scratch, measurement, metric)
        other = self.difference(scratch, measurement, metric)
        if gain is None or other is None:
            return ""
        if gain <= 0:
            return "pre-training does not help there"
        reaches = other.interval is None or other.interval.high >= 0  # one seed shows no gain
        return "the gain by pre-training cannot be distinguished from 0 there" if reaches else ""
