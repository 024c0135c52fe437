"""The ratios as a picture: how many times as good as the peer, with intervals."""

from __future__ import annotations

from typing import Any

from rows import Row
from table import Results, measured

from bertlab.report.plots.figure import COLOURS, INK, PALE, SMALL, applied, blank, label, legend, svg

_FOUND: dict[str, Any] = {"color": COLOURS[0], "marker": "o", "markersize": 6, "linewidth": 2.2}
_FLOOR: dict[str, Any] = {"color": INK, "marker": "|", "markersize": 11, "markeredgewidth": 1.4, "linestyle": ""}
_AIM: dict[str, Any] = {**_FLOOR, "marker": "D", "markersize": 6, "markerfacecolor": "none", "markeredgewidth": 1.1}
_NAMES = 2.9
"""Inches that the names of rows take at most."""
_NUMBERS = (0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Along the axis, those that are needed."""


def drawn(results: Results) -> bytes:
    """A line a row that is a ratio, as SVG; where less is better it is turned round, so that right is better."""
    from matplotlib.ticker import FixedLocator, NullLocator

    lines = [(row, found) for row, found in measured(results) if row.shown_as == "times"]
    with applied():
        figure = blank(0.7 + 0.37 * len(lines))
        axes = figure.subplots()
        axes.set_xscale("log")
        axes.axvline(1, color=PALE, linewidth=1.4, zorder=1)
        ends = [1.0]
        for place, (row, found) in enumerate(lines):
            low, middle, high = sorted(_better(row, value) for value in (*found["interval"], found["ratio"]))
            bounds = [_better(row, bound) for bound in (row.floor, row.aim) if bound is not None]
            for bound, style in zip(bounds, (_FLOOR, _AIM), strict=False):
                axes.plot(bound, place, **style, zorder=2)
            axes.plot([low, high], [place] * 2, **{**_FOUND, "marker": ""}, zorder=3)
            axes.plot(middle, place, **{**_FOUND, "linestyle": ""}, zorder=4)
            axes.text(1.01, place, row.shown(middle), transform=axes.get_yaxis_transform(), va="center", fontsize=SMALL)
            ends += [low, high, *bounds]
        first, last = min(ends) / 1.25, max(ends) * 1.25
        numbers = [number for number in _NUMBERS if first <= number <= last]
        axes.set_xlim(first, last)
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.xaxis.set_major_locator(FixedLocator(numbers))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticklabels([f"{number:g}x" for number in numbers])
        names = [f"{label(row.quantity, _NAMES)}\n{label(row.peer, _NAMES)}" for row, _ in lines]
        axes.set_yticks(range(len(lines)), names, linespacing=1.1)
        keys = [(_FOUND, "measured, 95 % interval"), (_FLOOR, "floor"), (_AIM, "aim")]
        caption = "How many times as good as the peer, whose name is below; 1x is the peer"
        legend(figure, keys, caption)
        return svg(figure, "benchmarks")


def _better(row: Row, value: float) -> float:
    return 1 / value if row.less else value
