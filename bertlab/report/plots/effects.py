"""The forest plot: what each row changes, with its interval, and what it changed in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertlab.report.evidence import Evidence
from bertlab.report.plots import units
from bertlab.report.plots.labels import width, wrapped
from bertlab.report.plots.layout import Drawing, Key, by_row, legend, numbers
from bertlab.report.plots.reach import beside, distant, least, padded
from bertlab.report.plots.style import COLOURS, INK, PALE, SMALL
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS, Effect
from bertlab.wording import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SURE: dict[str, Any] = {"color": COLOURS[0], "marker": "o", "markersize": 6.5, "linewidth": 2.2}
_UNSURE: dict[str, Any] = {"color": PALE, "marker": "o", "markersize": 5.5, "linewidth": 1.4}
_SINGLE: dict[str, Any] = {**_UNSURE, "color": INK, "markerfacecolor": "white", "markeredgewidth": 1.2, "linestyle": ""}
_PUBLISHED: dict[str, Any] = {
    "color": INK,
    "marker": "D",
    "markersize": 7.5,
    "markerfacecolor": "none",
    "markeredgewidth": 1.1,
    "linestyle": "",
}


@dataclass(frozen=True)
class Line:
    """A row beside the baseline on one measurement, in its unit."""

    row: str
    effect: Effect | None
    published: float | None

    @property
    def known(self) -> bool:
        """Whether its interval is of so many seeds that it covers what it promises."""
        return self.effect is not None and self.effect.interval is not None and self.effect.n >= VERDICT_MIN_SEEDS

    @property
    def style(self) -> dict[str, Any]:
        """Strong where the interval of enough seeds excludes 0, pale where it does not, hollow without one."""
        interval = None if self.effect is None else self.effect.interval
        if interval is None:
            return _SINGLE
        return _SURE if self.known and not interval.covers(0) else _UNSURE


def draw(evidence: Evidence) -> Drawing | None:
    """A panel a measurement, a line a row but the baseline; None if no row can be set beside the baseline."""
    rows = [row for row in evidence.variants if row != evidence.baseline]
    lines = {name: [_line(evidence, row, name) for row in rows] for name in evidence.measurements}
    lines = {name: each for name, each in lines.items() if any(line.effect for line in each)}
    if not lines:
        return None
    figure, panels, room = by_row(list(lines), rows)
    shown: list[Line] = []
    for (name, each), axes in zip(lines.items(), panels, strict=True):
        shown += _panel(axes, evidence, name, each, room)
    every = [line for each in lines.values() for line in each]
    counts = sorted({line.effect.n for line in every if line.effect})
    n = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    legend(
        figure,
        _keys(shown, every),
        f"Each row minus {evidence.baseline}, n = {n} {evidence.unit}{'s'[: counts[-1] > 1]}",
    )
    known = [line for line in every if line.known]
    sure = sum(line.style is _SURE for line in known)
    enough = f"of {VERDICT_MIN_SEEDS} {evidence.unit}s or more"
    told = f"{sure} of {count(len(known), 'interval')} {enough} without 0, each by itself"
    told = told if known else f"no intervals {enough}"
    published = any(line.published is not None for line in every)
    what = "Measured and published differences" if published else "Measured differences"
    alt = f"{what} of {count(len(rows), 'row')} from the baseline on {count(len(lines), 'measurement')}: {told}."
    return Drawing("effects", "Effects beside the paper's" if published else "Effects", alt, figure)


def _line(evidence: Evidence, row: str, name: str) -> Line:
    published = evidence.published_difference(row, name)
    return Line(row, evidence.difference(row, name), None if published is None else float(published))


def _panel(axes: Axes, evidence: Evidence, name: str, lines: Sequence[Line], room: float) -> list[Line]:
    """Draws a measurement, and returns what is measured and drawn to scale."""
    means = {line.row: line.effect.mean for line in lines if line.effect}
    published = [line.published for line in lines if line.published is not None]
    far = distant(evidence, means, least(evidence, name), published)
    beyond = {row: f"◂ −{-means[row]:.1f}" if means[row] < 0 else f"+{means[row]:.1f} ▸" for row in far}
    low, high = _ends(evidence, name, [line for line in lines if line.row not in far], published, beyond, room)
    axes.axvline(0, color=PALE, linewidth=1, zorder=1)
    for place, line in enumerate(lines):
        if line.row in far:
            side, x = ("left", 0.02) if means[line.row] < 0 else ("right", 0.98)
            at = axes.get_yaxis_transform()
            axes.text(x, place, beyond[line.row], transform=at, ha=side, va="center", fontsize=SMALL)
        elif line.effect is not None:
            _measured(axes, line, place, low, high)
        if line.published is not None:
            axes.plot(line.published, place, **_PUBLISHED, zorder=5)
    axes.set_xlim(low, high)
    axes.set_xlabel(wrapped(units.of(evidence, name), room))
    numbers(axes, room)
    return [line for line in lines if line.effect and line.row not in far]


def _measured(axes: Axes, line: Line, place: int, low: float, high: float) -> None:
    """The mean and its interval; an interval that goes on beyond the axis ends in arrows."""
    assert line.effect is not None
    style, interval = line.style, line.effect.interval
    if interval is not None:
        ends = [max(interval.low, low), min(interval.high, high)]
        axes.plot(ends, [place] * 2, color=style["color"], linewidth=style["linewidth"], zorder=3)
        for end, edge, marker in ((interval.low, low, "<"), (interval.high, high, ">")):
            if not low <= end <= high:
                axes.plot(edge, place, marker=marker, color=style["color"], markersize=5, clip_on=False, zorder=3)
    axes.plot(line.effect.mean, place, **{**style, "linestyle": ""}, zorder=4)


def _ends(
    evidence: Evidence,
    name: str,
    lines: Sequence[Line],
    published: Sequence[float],
    beyond: dict[str, str],
    room: float,
) -> tuple[float, float]:
    """The axis: 0, all means to scale and all that was published, and of wide intervals as much again either way."""
    marks = [0.0, *published, *(line.effect.mean for line in lines if line.effect)]
    low, high = min(marks), max(marks)
    slack = max(least(evidence, name), high - low)
    for interval in (line.effect.interval for line in lines if line.effect):
        if interval is not None:
            low, high = min(low, max(interval.low, low - slack)), max(high, min(interval.high, high + slack))
    low, high = padded(low, high, least(evidence, name))
    sides = [max((width(text) for text in beyond.values() if sign in text), default=0.0) / room for sign in "◂▸"]
    return beside(low, high, *sides)


def _keys(shown: Sequence[Line], lines: Sequence[Line]) -> list[Key]:
    from matplotlib.lines import Line2D

    drawn = [line.style for line in shown]
    known = [
        (_SURE, "mean, 95 % interval without 0 (each by itself)"),
        (_UNSURE, f"mean, 95 % interval around 0, or n < {VERDICT_MIN_SEEDS}"),
        (_SINGLE, "mean without an interval"),
    ]
    keys: list[Key] = [(Line2D([], [], **style), text) for style, text in known if style in drawn]
    if any(line.published is not None for line in lines):
        keys.append((Line2D([], [], **_PUBLISHED), "published"))
    return keys
