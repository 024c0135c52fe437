"""Averages over the measurements of a study: columns of a table that are computed, not measured."""

from collections.abc import Callable, Iterable, Mapping
from statistics import fmean

from bertlab.report.cells import Cell
from bertlab.store.record import StatedAverage


def points(average: StatedAverage, by_seed: Callable[[str], Mapping[int, Iterable[Cell]]]) -> dict[int, list[float]]:
    """The average of a variant by seed, in points: of the means over the fine-tuning seeds of each part.

    `by_seed` gives the cells of a measurement that have a value. A part counts with the metrics that are named beside
    it, without any with its own; a seed needs all of them.
    """
    parts = [_means(by_seed(name), metrics) for name, *metrics in average.of]
    seeds = set.intersection(*map(set, parts))
    return {seed: [fmean(part[seed] for part in parts)] for seed in sorted(seeds)}


def _means(by_seed: Mapping[int, Iterable[Cell]], metrics: list[str]) -> dict[int, float]:
    """A part by seed, where a value of each metric is known."""
    values = {
        seed: [cell.metrics.get(name) for cell in cells for name in metrics or (cell.metric,)]
        for seed, cells in by_seed.items()
    }
    return {seed: fmean(points) for seed, points in values.items() if None not in points}  # type: ignore[arg-type]
