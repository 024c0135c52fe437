"""Every measured point: what the means and the intervals are made of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from bertlab.report.evidence import Evidence
from bertlab.report.plots import units
from bertlab.report.plots.labels import width, wrapped
from bertlab.report.plots.layout import Drawing, Key, by_row, legend, numbers
from bertlab.report.plots.reach import beside, distant, least, padded
from bertlab.report.plots.style import COLOURS, INK, LEVEL, PALE, SMALL
from bertlab.report.statistics.summary import mean
from bertlab.wording import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SEED: dict[str, Any] = {"marker": "o", "linestyle": "", "mec": "white", "mew": 0.8}
_FINETUNE_SEED: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 3, "mew": 0, "alpha": 0.45}
_COLLAPSED: dict[str, Any] = {"marker": "x", "linestyle": "", "markersize": 5, "mew": 1.1, "color": INK}
_MEAN: dict[str, Any] = {"color": INK, "linewidth": 1.4}
_BASELINE: dict[str, Any] = {"color": PALE, "linewidth": 1, "linestyle": LEVEL}


def draw(evidence: Evidence) -> Drawing | None:
    """A panel a measurement, a line a row; None if nothing has been measured."""
    rows = evidence.variants
    names = [name for name in evidence.measurements if any(evidence.scores(row, name).by_seed for row in rows)]
    if not names:
        return None
    seeds = sorted({cell.pretrain_seed for cell in evidence.cells})
    colours = {seed: COLOURS[0 if len(seeds) > len(COLOURS) else place] for place, seed in enumerate(seeds)}
    figure, panels, room = by_row(names, rows)
    shown: list[tuple[str, str]] = []
    for name, axes in zip(names, panels, strict=True):
        shown += [(row, name) for row in _panel(axes, evidence, name, colours, room)]
    legend(figure, _keys(evidence, colours, shown))
    alt = f"Points of {count(len(rows), 'row')} on {count(len(names), 'measurement')}, by {evidence.unit}, with means."
    return Drawing("points", "Points by seed", alt, figure)


def _panel(axes: Axes, evidence: Evidence, name: str, colours: dict[int, str], room: float) -> list[str]:
    """A measurement: each row's fine-tuning seeds small, its seeds large and one above the other, its mean as a bar.

    Returns the rows that are drawn to scale.
    """
    found = {row: evidence.summary(row, name) for row in evidence.variants}
    means = {row: summary.mean for row, summary in found.items() if summary}
    centre = means.get(evidence.baseline, mean(list(means.values())))
    away = {row: value - centre for row, value in means.items() if row != evidence.baseline}
    far = distant(evidence, away, least(evidence, name))
    beyond = {row: f"◂ {_signed(means[row])}" if away[row] < 0 else f"{_signed(means[row])} ▸" for row in far}
    values = [centre]
    for line, row in enumerate(evidence.variants):
        if row in far:
            side, x = ("left", 0.02) if away[row] < 0 else ("right", 0.98)
            at = axes.get_yaxis_transform()
            axes.text(x, line, beyond[row], transform=at, ha=side, va="center", fontsize=SMALL)
        elif row in means:
            values += _row(axes, evidence, row, name, colours, line)
            axes.plot([means[row]] * 2, [line - 0.38, line + 0.38], **_MEAN, zorder=5)
    if evidence.baseline in means:
        axes.axvline(centre, **_BASELINE, zorder=1)
    sides = [max((width(text) for text in beyond.values() if sign in text), default=0.0) / room for sign in "◂▸"]
    axes.set_xlim(beside(*padded(min(values), max(values), least(evidence, name)), *sides))
    axes.set_xlabel(wrapped(units.of(evidence, name), room))
    numbers(axes, room)
    return [row for row in means if row not in far]


def _row(axes: Axes, evidence: Evidence, row: str, name: str, colours: dict[int, str], line: int) -> list[float]:
    """Draws the points of a row, and returns them."""
    scores, drawn = evidence.scores(row, name), []
    crossed = evidence.collapsed(row, name)
    shades = colours if set(scores.by_seed) <= set(colours) else dict.fromkeys(scores.by_seed, COLOURS[0])
    for place, seed in enumerate(shades):
        if seed not in scores.by_seed:
            continue
        at = line + (place - (len(shades) - 1) / 2) * 0.55 / len(shades)
        each = list(scores.by_seed[seed])
        if len(each) > 1:
            axes.plot(each, [at] * len(each), color=shades[seed], **_FINETUNE_SEED, zorder=3)
        axes.plot(mean(each), at, color=shades[seed], **_SEED, markersize=_size(shades), zorder=4)
        for cell in crossed:
            if evidence.seed_of(cell) == seed and cell.value is not None:
                axes.plot(cell.value, at, **_COLLAPSED, zorder=6)
        drawn += each
    return drawn


def _size(seeds: Collection[int]) -> float:
    """Of the mark of a seed, in points."""
    return 6.5 if len(seeds) <= len(COLOURS) else 4.5


def _signed(value: float) -> str:
    return f"{value:.1f}".replace("-", "−")


def _keys(evidence: Evidence, colours: dict[int, str], shown: Sequence[tuple[str, str]]) -> list[Key]:
    from matplotlib.lines import Line2D

    keys: list[Key] = []
    if evidence.imported or len(set(colours.values())) < len(colours):
        keys.append((Line2D([], [], color=COLOURS[0], **_SEED, markersize=_size(colours)), f"a {evidence.unit}"))
    else:
        keys += [
            (Line2D([], [], color=colour, **_SEED, markersize=_size(colours)), f"seed {seed}")
            for seed, colour in colours.items()
        ]
    if any(len(each) > 1 for pair in shown for each in evidence.scores(*pair).by_seed.values()):
        keys.append((Line2D([], [], color=PALE, **_FINETUNE_SEED), "one fine-tuning seed"))
    if any(evidence.collapsed(*pair) for pair in shown):
        keys.append((Line2D([], [], **_COLLAPSED), "collapsed"))
    bar = Line2D([], [], color=INK, marker="|", linestyle="", markersize=11, markeredgewidth=1.4)
    return [*keys, (bar, "mean of the row"), (Line2D([], [], **_BASELINE), "mean of the baseline")]
