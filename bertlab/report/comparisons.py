"""Effects between the variants of a study, with what all its comparisons together say of the variance between seeds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple, Self

import numpy as np

from bertlab.report.cells import FLOORS, Pretraining
from bertlab.report.predictions import Predictions
from bertlab.report.statistics import effects
from bertlab.report.statistics.effects import Effect
from bertlab.report.statistics.variance import Typical
from bertlab.report.study_values import StudyValues, at_floor
from bertlab.store.record import StatedAverage
from bertlab.tasks.metrics import Mean

Milestones = tuple[int, int]
"""The percentages of the pre-training's steps after which two variants are measured."""


class Comparison(NamedTuple):
    """A variant minus another on a measurement; with two variants more, that difference minus theirs."""

    variants: tuple[str, ...]
    measurement: str
    metric: str = ""
    """The metric; empty for the measurement's own."""
    at: Milestones = (100, 100)
    without: frozenset[int] = frozenset()
    """Seeds that are left out."""


@dataclass(frozen=True, kw_only=True)
class Comparisons(StudyValues):
    """A study at one scale on one corpus: what is measured of it, and the effects between its variants."""

    predictions: Predictions = field(repr=False)
    unlearned_lend: bool = False
    """Whether variants with a model that learned nothing lend variance: what a verdict would be if they did."""
    _unpooled: dict[Comparison, Effect | None] = field(default_factory=dict, init=False, repr=False)
    _pooled: dict[Comparison, Effect] = field(default_factory=dict, init=False, repr=False)
    _typical: dict[str, Typical | None] = field(default_factory=dict, init=False, repr=False)
    """The variance between seeds over all comparisons with the baseline, by metric."""
    _originals: dict[str, dict[str, str]] = field(default_factory=dict, init=False, repr=False)

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
        """Maps each variant to the one with the same runs on a measurement, or on all: the one with most seeds."""
        if measurement not in self._originals:
            runs: dict[str, dict[Any, str]] = {name: {} for name in self.variants}
            for cell in self.cells:
                if measurement in ("", cell.measurement):
                    key = cell.measurement, cell.milestone, cell.pretrain_seed, cell.finetune_seed
                    runs[cell.variant][key] = cell.run_id
            self._originals[measurement] = originals(runs)
        return self._originals[measurement]

    @cached_property
    def duplicates(self) -> dict[str, str]:
        """Variants whose runs are all those of another variant, with its name."""
        return {variant: original for variant, original in self.originals().items() if variant != original}

    def points(self, variant: str, measurement: str, at: int = 100) -> dict[int, list[float]]:
        """The values of a variant on a measurement or an average, by seed."""
        if measurement in self.averages:
            return self._average(variant, self.averages[measurement])
        by_seed = self.by_seed(variant, measurement, at)
        return {seed: [cell.value for cell in cells if cell.value is not None] for seed, cells in by_seed.items()}

    def _average(self, variant: str, average: StatedAverage) -> dict[int, list[float]]:
        """The average of a variant by seed, in points: of the means over the fine-tuning seeds of each part.

        A part counts with the metrics that are named beside it, without any with its own; a seed needs all of them.
        """
        parts = []
        for name, *metrics in average.of:
            values = {
                seed: [cell.metrics.get(metric) for cell in cells for metric in metrics or (cell.metric,)]
                for seed, cells in self.by_seed(variant, name).items()
            }
            parts.append({seed: fmean(points) for seed, points in values.items() if None not in points})  # type: ignore[arg-type]
        return {seed: [fmean(part[seed] for part in parts)] for seed in sorted(set.intersection(*map(set, parts)))}

    def published_difference(
        self, variant: str, measurement: str, other: str = "", at: Milestones = (100, 100)
    ) -> Decimal | None:
        """The paper's value minus that of `other`, the baseline by default; decimal, so that 84.3 - 84.2 is 0.1."""
        ours = self.published(variant, measurement, at[0])
        theirs = self.published(other or self.baseline, measurement, at[1])
        return None if ours is None or theirs is None else Decimal(str(ours)) - Decimal(str(theirs))

    def difference(self, variant: str, measurement: str, metric: str = "") -> Effect | None:
        """A variant minus the baseline on a measurement or an average.

        Averages are paired by seed alone: their parts have no examples in common.
        """
        if measurement in self.averages:
            sides = (self.points(side, measurement).items() for side in (variant, self.baseline))
            return effects.effect(*({seed: [Mean(np.array(points))] for seed, points in side} for side in sides))
        return self.effect(Comparison((variant, self.baseline), measurement, metric))

    def effect(self, comparison: Comparison) -> Effect | None:
        """An effect, paired by seed and example as in `Predictions.effect`.

        A contrast borrows no variance: it may share most of its runs with any comparison. All comparisons of the study
        together estimate the variance between seeds (`Typical`), each pair of runs once, without variants that are
        untrained or have a model that learned nothing: their runs may vary differently.
        """
        comparison = self._own_metric(comparison)
        alone = self._alone(comparison)
        if alone is None or len(comparison.variants) > 2 or not all(map(self._ordinary, comparison.variants)):
            return alone
        if comparison not in self._pooled:
            same_pair = (self._alone(comparison._replace(measurement=name)) for name in self.distinct)
            self._pooled[comparison] = alone.moderated(self._typical_of(comparison.metric), same_pair)
        return self._pooled[comparison]

    def _own_metric(self, comparison: Comparison) -> Comparison:
        """The comparison with an empty metric if it is that of the measurement."""
        metrics = {cell.metric for cell in self.column(comparison.measurement)}
        return comparison._replace(metric="") if comparison.metric in metrics else comparison

    def _alone(self, comparison: Comparison) -> Effect | None:
        """An effect with a variance that borrows nothing."""
        comparison = self._own_metric(comparison)
        if comparison not in self._unpooled:
            variants, on, metric, at, without = comparison
            runs = [self.by_seed(name, on, when, without) for name, when in zip(variants, (*at, *at), strict=False)]
            if variants[1] in FLOORS and variants[1] not in self.variants:
                runs[1] = at_floor(runs[0], variants[1])
            self._unpooled[comparison] = self.predictions.effect(*runs, metric=metric)
        return self._unpooled[comparison]

    def _typical_of(self, metric: str) -> Typical | None:
        """The variance between seeds over all comparisons with the baseline."""
        if metric not in self._typical:
            repeated = {*self.duplicates, self.duplicates.get(self.baseline, self.baseline)}
            lenders = [name for name in self.others if self._ordinary(name) and name not in repeated]
            pairs = [(name, self.baseline) for name in lenders if self._ordinary(self.baseline)]
            effects = ([self._alone(Comparison(pair, on, metric)) for on in self.distinct] for pair in pairs)
            spreads = ([effect.spread for effect in of_pair if effect] for of_pair in effects)
            self._typical[metric] = Typical.from_spreads(spreads)
        return self._typical[metric]

    def _ordinary(self, variant: str) -> bool:
        """Whether the runs of a variant vary like those of others: it is trained, and each model learned something."""
        return not self.untrained(variant) and (self.unlearned_lend or variant not in self.unlearned)

    def with_all_lenders(self) -> Self:
        """The same, where variants with a model that learned nothing lend variance too."""
        other = replace(self, unlearned_lend=True)
        other._unpooled.update(self._unpooled)
        return other


def originals(members: Mapping[str, Mapping[Any, str]]) -> dict[str, str]:
    """Maps each variant to the one that stands for all with its runs: the one with most runs, the first on ties.

    `members` has the run ids of each variant by position in the study. Two variants have the same runs if they share a
    position, and the run is the same at every position that they share.
    """

    def same_runs(one: str, other: str) -> bool:
        shared = members[one].keys() & members[other].keys()
        return bool(shared) and all(members[one][key] == members[other][key] for key in shared)

    standing_for: dict[str, str] = {}
    for name in sorted(members, key=lambda variant: -len(members[variant])):
        standing_for[name] = next((other for other in standing_for.values() if same_runs(other, name)), name)
    return standing_for
