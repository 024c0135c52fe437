"""The layout of a figure: its width, panels side by side, names of variants, the legend below."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertlab.names import plain
from bertlab.report.evidence import Evidence
from bertlab.report.plots.style import ROUND

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.2
"""Inches: 691 pixels at the 96 a browser gives an inch."""
SPAN = 2.0
"""Points that a panel shows at least: a tenth of a point must not look like an effect."""
_CHARACTERS = 12.5
"""Characters that fit into an inch of 9-point type, on average."""
_FAR, _FAR_UNTRAINED = 3.0, 1.5
"""A variant this many times farther from the baseline than the next is drawn off the scale."""

Key = tuple[Mapping[str, Any], str]
"""The line style that a legend shows, and its text."""


@dataclass(frozen=True)
class Drawing:
    """A figure before it is written."""

    kind: str
    title: str
    alt: str
    figure: Figure


def label(name: str, inches: float = 2.0, lines: int = 1) -> str:
    """A name from data as text in a figure: wrapped to `inches`, without dollars and underscores that act."""
    width = max(4, int(inches * _CHARACTERS))
    text = "\n".join(textwrap.wrap(plain(name), width, max_lines=lines, placeholder="…")) or "…"
    # matplotlib hides labels that start with an underscore
    return (" " + text if text.startswith("_") else text).replace("$", r"\$")


def axis_name(evidence: Evidence, measurement: str) -> str:
    """The unit of a measurement: its metric in points, or a metric of the pre-training in its own unit."""
    cell = evidence.column(measurement)[0]
    metric = cell.metric.upper() if len(cell.metric) < 3 else cell.metric.replace("_", " ")
    name = f"{metric} (points)" if cell.in_points else metric
    return f"{name}, less is better" if evidence.less_is_more(measurement) else name


def blank(height: float) -> Figure:
    """An empty figure of `height` inches."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(figsize=(WIDTH, height), layout=ConstrainedLayoutEngine(w_pad=0.09, h_pad=0.05), facecolor="white")


def by_variant(evidence: Evidence, names: Sequence[str], variants: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """A panel for each measurement, and in each a line for each variant, at 0, 1, ... from above."""
    from matplotlib.ticker import MaxNLocator

    across = 2 if len(names) == 4 else min(3, len(names))
    down = math.ceil(len(names) / across)
    room = (WIDTH - 1.7) / across - 0.2
    figure = blank(down * (0.95 + 0.33 * len(variants)) + 0.2)
    grid = figure.subplots(down, across, sharey=True, squeeze=False)
    for name, axes in zip(names, grid.flat, strict=False):
        axes.set_title(label(name, room, lines=2))
        axes.set_xlabel(label(axis_name(evidence, name), room, lines=2))
        axes.xaxis.set_major_locator(MaxNLocator(min(6, max(2, int(room / 0.5))), steps=ROUND))
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    grid[0, 0].set_yticks(range(len(variants)), [label(each, 1.5, lines=2) for each in variants], linespacing=1.05)
    grid[0, 0].set_ylim(len(variants) - 0.45, -0.55)
    return figure, list(grid.flat[: len(names)])


def off_scale(evidence: Evidence, name: str, away: Mapping[str, float], marks: Sequence[float] = ()) -> set[str]:
    """The variants that would squeeze the others together: `away` is how far each lies from the baseline.

    Those are untrained variants far from all others, and of three or more trained ones those far from the rest;
    `marks` are drawn as well.
    """
    near, off = max([least(evidence, name), *map(abs, marks)]), set()
    order = sorted(away, key=lambda each: (evidence.untrained(each), abs(away[each])))
    for place, variant in enumerate(order):
        factor = _FAR_UNTRAINED if evidence.untrained(variant) and place else _FAR if place > 1 else math.inf
        if abs(away[variant]) > factor * near:
            off.add(variant)
        else:
            near = max(near, abs(away[variant]))
    return off


def at_edge(axes: Axes, place: float, value: str, *, left: bool) -> None:
    """Writes the value of a variant that is off the scale at the edge of its line."""
    text, x, side = (f"◂ {value}", 0.02, "left") if left else (f"{value} ▸", 0.98, "right")
    text = text.replace("-", "−")
    axes.text(x, place, text, transform=axes.get_yaxis_transform(), ha=side, va="center", fontsize=8.5)


def least(evidence: Evidence, name: str) -> float:
    """The least range of an axis, in the measurement's unit; 0 for a metric that is not in points."""
    return SPAN if evidence.column(name)[0].in_points else 0.0


def limit(axes: Axes, low: float, high: float, least: float) -> None:
    """Sets the limits of an axis: `low` to `high`, at least `least` apart, with a margin."""
    half = max((high - low) / 2, least / 2, 1e-3 * max(abs(low), abs(high)), 1e-9) * 1.16
    axes.set_xlim((low + high) / 2 - half, (low + high) / 2 + half)


def legend(figure: Figure, keys: Sequence[Key], title: str = "") -> None:
    """Adds a legend below a figure, as many keys side by side as there is room for, and the height that it takes."""
    from matplotlib.lines import Line2D

    longest = max(len(text) for _, text in keys)
    columns = max(1, min(4, len(keys), int(WIDTH / (longest / _CHARACTERS + 0.6))))
    figure.set_figheight(figure.get_figheight() + 0.19 * (math.ceil(len(keys) / columns) + bool(title)))
    figure.legend(
        [Line2D([], [], **style) for style, _ in keys],
        [text for _, text in keys],
        title=label(title, WIDTH) if title else None,
        loc="outside lower center",
        ncols=columns,
        columnspacing=1.4,
        handletextpad=0.5,
    )
