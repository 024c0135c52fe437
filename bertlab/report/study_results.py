"""What a report derives from the results of a study: who has whose runs, means, floors, and effects."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from bertlab.recipe.objective import Premise
from bertlab.report import averages, numerics
from bertlab.report.cells import EXCHANGED, FLOORS, Pretraining
from bertlab.report.frame import Frame, at_floor
from bertlab.report.predictions import Predictions
from bertlab.report.statistics import effects
from bertlab.report.statistics.effects import Effect, Summary, summarise
from bertlab.report.statistics.variance import Typical
from bertlab.tasks.metrics import Mean

Milestones = tuple[int, int]
"""Per cent of the pre-training's steps after which each of two variants is measured."""


class Comparison(NamedTuple):
    """What an effect is of: a variant minus another, or a contrast of four."""

    variants: tuple[str, ...]
    measurement: str
    metric: str
    """Empty for that of the measurement."""
    at: Milestones
    without: frozenset[int]
    """Seeds that are left out."""


@dataclass(frozen=True, kw_only=True)
class StudyResults(Frame):
    """A study at one scale on one corpus, with what its results say."""

    predictions: Predictions = field(repr=False)
    unlearned_lend: bool = False
    """Whether variants with a model that learned nothing lend variance: what a verdict would be if they did."""
    _unpooled: dict[Comparison, Effect | None] = field(default_factory=dict, init=False, repr=False)
    _pooled: dict[Comparison, Effect] = field(default_factory=dict, init=False, repr=False)
    _typical: dict[str, Typical | None] = field(default_factory=dict, init=False, repr=False)
    """The variance between seeds over all comparisons with the baseline, by metric."""

    def of(self, variant: str) -> list[Pretraining]:
        """The finished pre-trainings of a variant, by seed."""
        return [run for run in self.pretrainings if run.variant == variant and run.finished]

    def untrained(self, variant: str) -> bool:
        """Whether a variant has no pre-training."""
        return any(run.untrained for run in self.of(variant))

    @cached_property
    def others(self) -> list[str]:
        """The pre-trained variants but the baseline."""
        return [name for name in self.variants if name != self.baseline and not self.untrained(name)]

    @cached_property
    def unlearned(self) -> frozenset[str]:
        """The variants with a model that learned nothing in pre-training."""
        return frozenset(run.variant for run in self.pretrainings if run.learned_nothing)

    def originals(self, measurement: str = "") -> dict[str, str]:
        """By variant, the one with the same runs on a measurement, or on all: itself, or that with the most seeds."""
        runs: dict[str, dict[Any, str]] = {name: {} for name in self.variants}
        for cell in self.cells:
            if measurement in ("", cell.measurement):
                key = cell.measurement, cell.milestone, cell.pretrain_seed, cell.finetune_seed
                runs[cell.variant][key] = cell.run_id
        return _originals(runs)

    @cached_property
    def duplicates(self) -> dict[str, str]:
        """Variants whose runs are all those of another variant, with its name."""
        return {variant: original for variant, original in self.originals().items() if variant != original}

    @cached_property
    def trained(self) -> dict[str, list[str]]:
        """Variants with a pre-training of their own, each with those that share it."""
        runs = {name: {run.seed: run.id for run in self.pretrainings if run.variant == name} for name in self.variants}
        owners = _originals(runs)
        owned = {owner: [name for name in self.variants if owners[name] == owner != name] for owner in self.variants}
        return {owner: names for owner, names in owned.items() if owners[owner] == owner}

    def premises(self, variant: str) -> Sequence[Premise]:
        """What has to hold of a variant before it is compared with another objective."""
        return next((run.defined.premises for run in self.of(variant) if not run.untrained), ())

    def before(self, day: str) -> bool:
        """Whether one of its runs began on a day such as `2026-11-29`, earlier, or on an unknown day."""
        runs = [*self.pretrainings, *self.cells]
        return any(run.date <= day for run in runs if run.status in ("done", "collapsed"))

    @property
    def started(self) -> bool:
        """Whether anything of it is finished."""
        return any(run.finished for run in self.pretrainings) or len(self.unfinished) < len(self.cells)

    @cached_property
    def numerics_mismatch(self) -> dict[str, str]:
        """Variants with other numerics than the baseline, with what differs (see `numerics.mismatch`)."""
        return numerics.mismatch(self.baseline, self.variants, self.pretrainings, self.cells)

    @cached_property
    def heldout_metrics(self) -> dict[str, str]:
        """The label of each metric of the held-out evaluations, by name."""
        labels = {name: label for run in self.pretrainings for name, label in run.defined.figures.items()}
        names = [name for run in self.pretrainings for name in run.result.heldout]
        names += [name for run in self.pretrainings for point in run.curve for name in point.losses]
        return {name: labels.get(name, name) for name in names if not name.endswith("_majority")}

    def points(self, variant: str, measurement: str, at: int = 100) -> dict[int, list[float]]:
        """The values of a variant on a measurement or an average, by seed."""
        if measurement in self.averages:
            return averages.points(self.averages[measurement], functools.partial(self.by_seed, variant))
        cells = self.by_seed(variant, measurement, at)
        return {seed: [cell.value for cell in cells[seed] if cell.value is not None] for seed in cells}

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
        points: dict[str, list[float]] = {}
        for cell in self.column(measurement):
            for name, value in cell.floors.items():
                if name != EXCHANGED or cell.variant == self.baseline:
                    points.setdefault(name, []).append(value)
        return {name: fmean(values) for name, values in points.items()}

    def above_floors(self, measurement: str) -> bool | None:
        """Whether the baseline's mean is above every floor of a measurement; None if no floor is known."""
        floors, baseline = self.floors(measurement), self.summary(self.baseline, measurement)
        return baseline.mean > max(floors.values()) if floors and baseline else None

    @property
    def below_floors(self) -> dict[str, float]:
        """The measurements on which the baseline is not above every floor, with its mean."""
        means = {name: summary.mean for name in self.distinct if (summary := self.summary(self.baseline, name))}
        return {name: mean for name, mean in means.items() if self.above_floors(name) is False}

    @property
    def unbeaten(self) -> list[str]:
        """The floors that the baseline is not above on some measurement, in the order of `FLOORS`."""
        unbeaten = {
            floor for name, mean in self.below_floors.items() for floor, at in self.floors(name).items() if mean <= at
        }
        return [floor for floor in FLOORS if floor in unbeaten]

    def published_difference(
        self, variant: str, measurement: str, other: str = "", at: Milestones = (100, 100)
    ) -> Decimal | None:
        """The paper's value minus that of `other`, the baseline by default; decimal, so that 84.3 - 84.2 is 0.1."""
        ours = self.published(variant, measurement, at[0])
        theirs = self.published(other or self.baseline, measurement, at[1])
        return None if ours is None or theirs is None else Decimal(str(ours)) - Decimal(str(theirs))

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
        comparison = Comparison((variant, other, *than), measurement, self._metric(metric, measurement), at, without)
        alone = self._alone(comparison)
        if alone is None or than or not (self._ordinary(variant) and self._ordinary(other)):
            return alone
        if comparison not in self._pooled:
            alike = (self._alone(comparison._replace(measurement=name)) for name in self.distinct)
            self._pooled[comparison] = alone.moderated(self._typical_of(comparison.metric), alike)
        return self._pooled[comparison]

    def _alone(self, comparison: Comparison) -> Effect | None:
        """An effect with a variance that borrows nothing."""
        variants, on, metric, at, without = comparison
        comparison = comparison._replace(metric=self._metric(metric, on))
        if comparison not in self._unpooled:
            runs = [self.by_seed(name, on, when, without) for name, when in zip(variants, (*at, *at), strict=False)]
            if variants[1] in FLOORS and variants[1] not in self.variants:
                runs[1] = at_floor(runs[0], variants[1])
            self._unpooled[comparison] = self.predictions.effect(*runs, metric=comparison.metric)
        return self._unpooled[comparison]

    def _metric(self, metric: str, measurement: str) -> str:
        """A metric beside that of a measurement; empty for its own."""
        return "" if metric in {cell.metric for cell in self.column(measurement)} else metric

    def _typical_of(self, metric: str) -> Typical | None:
        """The variance between seeds over all comparisons with the baseline."""
        if metric not in self._typical:
            others = self.others if self._ordinary(self.baseline) else ()
            again = self.duplicates.keys() | {self.duplicates.get(self.baseline, self.baseline)}
            rows = [
                [
                    self._alone(Comparison((name, self.baseline), on, metric, (100, 100), frozenset()))
                    for on in self.distinct
                ]
                for name in others
                if self._ordinary(name) and name not in again
            ]
            self._typical[metric] = Typical.of([effect.spread for effect in row if effect] for row in rows)
        return self._typical[metric]

    def _ordinary(self, variant: str) -> bool:
        """Whether the runs of a variant vary like those of others: it is trained, and each model learned something."""
        return not self.untrained(variant) and (self.unlearned_lend or variant not in self.unlearned)

    def with_all_lenders(self) -> "StudyResults":
        """The same, where variants with a model that learned nothing lend variance too."""
        other = replace(self, unlearned_lend=True)
        other._unpooled.update(self._unpooled)
        return other

    def difference(self, variant: str, measurement: str, metric: str = "") -> Effect | None:
        """A variant minus the baseline on a measurement or an average.

        Averages are paired by seed alone: their parts have no examples in common.
        """
        if measurement in self.averages:
            sides = (self.points(side, measurement).items() for side in (variant, self.baseline))
            return effects.effect(*({seed: [Mean(np.array(points))] for seed, points in side} for side in sides))
        return self.effect(variant, self.baseline, measurement, metric=metric)

    @property
    def differences(self) -> list[Effect]:
        """The pre-trained variants minus the baseline, on each measurement."""
        pairs = itertools.product(self.others, self.measurements)
        return [effect for pair in pairs if (effect := self.difference(*pair))]

    def gain(self, scratch: str, measurement: str, metric: str = "") -> float | None:
        """The baseline minus an untrained variant, paired by seed; None for a metric of the pre-training.

        In points, or in the unit of `metric`.
        """
        effect = None if self.of_pretraining(measurement) else self.difference(scratch, measurement, metric)
        return None if effect is None else 0.0 - effect.mean  # no minus before a zero

    def unhelped(self, scratch: str, measurement: str, metric: str = "") -> str:
        """Why nothing shows that pre-training helps on a measurement, by the untrained variant; empty if it does."""
        if self.collapsed(scratch, measurement):
            return f"{scratch} predicts one answer for all examples, so the gain by pre-training is unknown"
        gain = self.gain(scratch, measurement, metric)
        effect = self.difference(scratch, measurement, metric)
        if gain is None or effect is None:
            return ""
        if gain <= 0:
            return "pre-training does not help there"
        reaches = effect.interval is None or effect.interval.high >= 0  # one seed shows no gain
        return "the gain by pre-training cannot be distinguished from 0 there" if reaches else ""


def _originals(members: Mapping[str, Mapping[Any, str]]) -> dict[str, str]:
    """By variant, the one that stands for all with the same runs: that with the most, the first of equals.

    `members` has the runs of each variant by place. Two have the same runs if they share a place, and if the run is the
    same at every place that they share.
    """
    originals: dict[str, str] = {}
    for name, runs in sorted(members.items(), key=lambda member: -len(member[1])):
        originals[name] = next((other for other in originals.values() if _agree(members[other], runs)), name)
    return originals


def _agree(one: Mapping[Any, str], other: Mapping[Any, str]) -> bool:
    shared = one.keys() & other.keys()
    return bool(shared) and all(one[key] == other[key] for key in shared)
