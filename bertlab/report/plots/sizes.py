"""Size against perplexity, and perplexity against the tasks: whether a larger model is a better one, and for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertlab.report.cells import Pretraining
from bertlab.report.evidence import Evidence
from bertlab.report.plots import style, units
from bertlab.report.plots.labels import cut, wrapped
from bertlab.report.plots.layout import WIDTH, Drawing, Key, blank, legend
from bertlab.report.plots.units import COUNTS, unit
from bertlab.report.statistics.summary import mean
from bertlab.wording import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_APART = 1.05
"""How many times as large as the smallest the largest model is at least."""
_ACROSS = 3
_FEWER = ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 5), (1,))
"""Numbers on a logarithmic axis, but for powers of ten: the first that are not too many."""

Marks = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """A row that can be set beside the others by size."""

    row: str
    parameters: float
    perplexities: Mapping[int, float]
    """On held-out text, by seed."""


def sizes(evidence: Evidence) -> list[Size]:
    """The rows by size: masked LMs of the baseline's objective, vocabulary and positions, as others do not compare."""
    reference = next((run for run in evidence.of(evidence.baseline) if _judged(run)), None)
    found = []
    for row in evidence.trained:
        runs = [run for run in evidence.of(row) if _judged(run) and reference and _kind(run) == _kind(reference)]
        known = {run.seed: value for run in runs if (value := run.heldout("perplexity")) is not None}
        if known:
            found.append(Size(row, float(runs[0].result["parameters"]), known))
    return sorted(found, key=lambda each: each.parameters)


def draw(evidence: Evidence) -> Drawing | None:
    """Perplexity over parameters, each task over perplexity; None where all rows are of a size."""
    from matplotlib.lines import Line2D

    rows = sizes(evidence)
    if not rows or rows[-1].parameters <= _APART * rows[0].parameters:
        return None
    tasks = [
        name
        for name in evidence.measurements
        if evidence.column(name)[0].method != "pretraining"
        and any(evidence.scores(each.row, name).by_seed for each in rows)
    ]
    size, called = unit(rows[-1].parameters, COUNTS)
    marks = {each.row: _mark(each.row, place, evidence.baseline) for place, each in enumerate(rows)}
    keys: list[Key] = [
        (Line2D([], [], **marks[each.row], markersize=6.5), cut(each.row, 2.6, style.SMALL)) for each in rows
    ]
    several = max(len(each.perplexities) for each in rows) > 1
    reading = "Large: mean of the row. Small: one pre-training seed." if several else ""
    down = -(-len(tasks) // _ACROSS)
    figure = blank(0.3 + 2.5 + 2.2 * down)
    grid = figure.add_gridspec(1 + down, min(_ACROSS, max(1, len(tasks))), height_ratios=[2.5, *[2.2] * down])
    top = figure.add_subplot(grid[0, :])
    for each in rows:
        points = [(each.parameters / size, value) for value in each.perplexities.values()]
        _points(top, points, marks[each.row])
    _parameters(top, rows[0].parameters / size, rows[-1].parameters / size)
    top.set_xlabel(f"parameters{called}")
    top.set_ylabel("held-out perplexity")
    panels: list[Axes] = []
    for place, name in enumerate(tasks):
        shared = panels[0] if panels else None
        axes = figure.add_subplot(grid[1 + place // _ACROSS, place % _ACROSS], sharex=shared)
        panels.append(axes)
        _task(axes, evidence, rows, marks, name, WIDTH / min(_ACROSS, len(tasks)) - 0.9)
    legend(figure, keys, reading)
    alt = f"Held-out perplexity of {count(len(rows), 'model')} over their parameters"
    alt += f", and {count(len(tasks), 'measurement')} over perplexity." if tasks else "."
    return Drawing("sizes", "Size, perplexity and tasks", alt, figure)


def _judged(run: Pretraining) -> bool:
    return not run.untrained and not run.causal and run.sees_mask and bool(run.result.get("parameters"))


def _kind(run: Pretraining) -> tuple[object, ...]:
    """What has to be equal for perplexities to compare."""
    return (sorted(run.group("objective").items()), run.result.get("vocabulary"), run.rotary)


def _mark(row: str, place: int, baseline: str) -> Marks:
    colour = style.INK if row == baseline else style.colour(place)
    return {"color": colour, "marker": style.MARKERS[place % len(style.MARKERS)], "linestyle": ""}


def _points(axes: Axes, points: Sequence[tuple[float, float]], mark: Marks) -> None:
    """The seeds of a row small, their mean large."""
    if len(points) > 1:
        axes.plot(*zip(*points, strict=True), **mark, markersize=3.5, alpha=0.45, markeredgewidth=0, zorder=3)
    x, y = (mean([point[part] for point in points]) for part in (0, 1))
    axes.plot(x, y, **mark, markersize=7.5, markeredgecolor="white", zorder=4)


def _parameters(axes: Axes, low: float, high: float) -> None:
    """A logarithmic axis with a few round numbers."""
    from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator, ScalarFormatter

    slack = (high / low) ** 0.08
    axes.set_xscale("log")
    axes.set_xlim(low / slack, high * slack)
    for ticks in (*(LogLocator(subs=subs) for subs in _FEWER), MaxNLocator(4, steps=style.ROUND)):
        rounded = [each for each in ticks.tick_values(low, high) if low / slack <= each <= high * slack]
        if 3 <= len(rounded) <= 8:
            break
    axes.xaxis.set_major_locator(FixedLocator(rounded))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(ScalarFormatter())
    style.bare(axes)


def _task(
    axes: Axes, evidence: Evidence, rows: Sequence[Size], marks: Mapping[str, Marks], name: str, room: float
) -> None:
    from matplotlib.ticker import MaxNLocator

    for each in rows:
        scores = evidence.scores(each.row, name).seed_means()
        points = [(each.perplexities[seed], value) for seed, value in scores.items() if seed in each.perplexities]
        if points:
            _points(axes, points, marks[each.row])
    axes.margins(0.12)
    axes.set_title(wrapped(name, room, style.TITLE))
    axes.set_xlabel("held-out perplexity")
    axes.set_ylabel(wrapped(units.of(evidence, name), 1.6))
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=style.ROUND))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    style.bare(axes)
