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
    parts = []
    for name, *metrics in average.of:
        values = {
            seed: [cell.metrics.get(metric) for cell in cells for metric in metrics or (cell.metric,)]
            for seed, cells in by_seed(name).items()
        }
        parts.append({seed: fmean(points) for seed, points in values.items() if None not in points})  # type: ignore[arg-type]
    return {seed: [fmean(part[seed] for part in parts)] for seed in sorted(set.intersection(*map(set, parts)))}
