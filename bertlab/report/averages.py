"""Averages over the measurements of a study: columns of a table that are computed, not measured."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from statistics import fmean

import numpy as np

from bertlab.report.cells import Cell, printed_difference
from bertlab.report.statistics.effects import Effect, effect
from bertlab.tasks.metrics import Mean

Measured = Mapping[str, Mapping[int, Iterable[Cell]]]
"""The cells of a variant that have a value, by measurement and seed."""


@dataclass(frozen=True)
class AverageColumn:
    """A mean of measurements, at each seed that has all of them."""

    name: str
    of: tuple[tuple[str, tuple[str, ...]], ...]
    """Each measurement with the metrics that it counts with; without any, its own metric counts."""
    published: Mapping[str, float]
    """The paper's values, in points, by variant."""

    @property
    def measurements(self) -> list[str]:
        """The names of its parts."""
        return [name for name, _ in self.of]

    def published_difference(self, variant: str, other: str) -> Decimal | None:
        """The paper's value minus that of another variant, in points."""
        return printed_difference(self.published.get(variant), self.published.get(other))

    def points(self, measured: Measured) -> dict[int, list[float]]:
        """The average by seed, in points: of the means over the fine-tuning seeds of each part."""
        parts = [_by_seed(measured.get(name, {}), metrics) for name, metrics in self.of]
        seeds = set.intersection(*(set(each) for each in parts))
        return {seed: [fmean(each[seed] for each in parts)] for seed in sorted(seeds)}

    def difference(self, ours: Measured, theirs: Measured) -> Effect | None:
        """A variant minus another in points, paired by seed alone: the parts have no examples in common."""
        sides = ({seed: [Mean(np.array(each))] for seed, each in self.points(one).items()} for one in (ours, theirs))
        return effect(*sides)


def _by_seed(cells: Mapping[int, Iterable[Cell]], metrics: tuple[str, ...]) -> dict[int, float]:
    """A part by seed, where a value of each metric is known."""
    found = {}
    for seed, own in cells.items():
        values = [each.metrics.get(name) for each in own for name in metrics or (each.metric,)]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            found[seed] = fmean(known)
    return found
