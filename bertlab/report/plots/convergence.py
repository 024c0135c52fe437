"""What was measured on the way: each task over the steps of pre-training, and over the time that they took."""

from __future__ import annotations

from collections.abc import Callable

from bertlab.report.cells import Pretraining
from bertlab.report.evidence import Evidence
from bertlab.report.plots import bands, style, units
from bertlab.report.plots.bands import Line
from bertlab.report.plots.labels import cut, wrapped
from bertlab.report.plots.layout import WIDTH, Drawing, blank, legend
from bertlab.report.plots.units import COUNTS, TIMES, unit
from bertlab.report.statistics.summary import mean
from bertlab.wording import count


def draw(evidence: Evidence) -> Drawing | None:
    """A line of panels a measurement, a line a row; None where only the end of pre-training was measured."""
    rows = [row for row in evidence.variants if row not in evidence.duplicates and not evidence.untrained(row)]
    names = [name for name in evidence.measurements if any(len(evidence.over_steps(row, name)) > 1 for row in rows)]
    if not names:
        return None
    along = []
    for called, sizes, at in (("steps of pre-training", COUNTS, _steps), (bands.TIME, TIMES, _seconds)):
        seeds = {name: {row: _seeds(evidence, row, name, at) for row in rows} for name in names}
        places = [
            place for each in seeds.values() for lines in each.values() for line in lines for place, _ in line.values()
        ]
        if places:
            along.append((seeds, called, *unit(max(places), sizes)))
    if not along:
        return None
    styles = {row: style.line(row, rows, evidence.baseline) for row in rows}
    keys = bands.keys(styles)
    reading = bands.told(max(len(lines) for each in along[0][0].values() for lines in each.values()))
    figure = blank(0.5 + 2.5 * len(names))
    grid = figure.subplots(len(names), len(along), sharex="col", sharey="row", squeeze=False)
    for across, name in zip(grid, names, strict=True):
        across[0].set_title(cut(name, WIDTH / 2, style.TITLE), loc="left")
        across[0].set_ylabel(wrapped(units.of(evidence, name), 2.2))
        for axes, (seeds, _, size, _) in zip(across, along, strict=True):
            for row in rows:
                lines = [{step: (x / size, y) for step, (x, y) in line.items()} for line in seeds[name][row]]
                if lines:
                    bands.draw(axes, bands.band(lines), styles[row])
            style.bare(axes)
    bands.along(grid[-1], [called + says for _, called, _, says in along], evidence)
    legend(figure, keys, reading)
    alt = f"{count(len(names), 'measurement')} of {count(len(rows), 'row')} on the way, over "
    alt += f"{' and '.join(called for _, called, _, _ in along)}."
    return Drawing("convergence", "Convergence", alt, figure)


def _seeds(evidence: Evidence, row: str, name: str, at: Callable[[Pretraining, float], float | None]) -> list[Line]:
    """What a row was measured at by milestone, by seed: means over fine-tuning seeds, at what is given by `at`."""
    lines: list[Line] = []
    for run in evidence.of(row):
        values: dict[int, list[float]] = {}
        for cell in evidence.cells:
            known = cell.variant == row and cell.measurement == name and cell.value is not None
            if known and cell.pretrain_seed == run.seed:
                values.setdefault(cell.milestone, []).append(cell.value or 0.0)
        places = {milestone: at(run, _end(run) * milestone / 100) for milestone in sorted(values)}
        line = {each: (place, mean(values[each])) for each, place in places.items() if place is not None}
        if line:
            lines.append(line)
    return lines


def _end(run: Pretraining) -> float:
    return float(run.result.get("steps") or 0)


def _steps(run: Pretraining, step: float) -> float | None:
    return step


def _seconds(run: Pretraining, step: float) -> float | None:
    """When a run was at a step: between two evaluations in proportion; None where no time was kept."""
    import numpy as np

    known = [(float(point.step), point.seconds) for point in run.curve if point.seconds is not None]
    if not known or step > known[-1][0]:
        return None
    steps, seconds = zip((0.0, 0.0), *known, strict=True)
    return float(np.interp(step, steps, seconds))
