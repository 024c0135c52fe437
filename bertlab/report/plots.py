"""The figures of a report: per-seed points, curves of pre-training, and what was measured during it.

SVG, 7.2 inches wide, the same bytes each time. Seaborn's style and its palette for the colour-blind (lines differ in
their dashes too), drawn on matplotlib's objects: no global state, no window system, no styles of the user's.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from bertlab.report import escape
from bertlab.report.evidence import Cell, Evidence, Pretraining
from bertlab.report.statistics import mean

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.2
"""Inches: 691 pixels at the 96 a browser gives an inch."""

_DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
_LEVEL: Any = (0, (5, 3.5))
_INK, _PALE = "#222222", "#8A8A8A"
_PANELS = 3
"""Panels side by side at most."""

_COUNTS = ((1e9, " (billions)"), (1e6, " (millions)"), (1e3, " (thousands)"), (1.0, ""))
_TIMES = ((3600.0, " (hours)"), (60.0, " (minutes)"), (1.0, " (seconds)"))
"""Units of an axis, the largest first."""

_ALONG = (("step", "steps", _COUNTS), ("tokens", "tokens", _COUNTS), ("seconds", "training time", _TIMES))
"""What losses are drawn over: a field of a point, its name on the axis, its units."""

_ROUND = (1, 2, 2.5, 5, 10)
"""Steps between the numbers on an axis, but for powers of ten."""

_SPAN = 2.0
"""Points that a panel shows at least: a tenth of a point is not to look like an effect."""

_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "bertlab",
    "svg.fonttype": "path",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "axes.edgecolor": _PALE,
    "axes.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _PALE,
    "ytick.color": _PALE,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 9,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
}


def points(evidence: Evidence) -> bytes | None:
    """An SVG of every measured point: a panel a measurement, a line a row; None if nothing has been measured."""
    if not any(evidence.scores(row, name).by_seed for row in evidence.variants for name in evidence.measurements):
        return None
    return _draw(_points, evidence)


def curves(evidence: Evidence) -> bytes | None:
    """An SVG of held-out loss over steps, tokens and training time, the unigram entropy dashed; None without curves."""
    if not any(each.curve for each in evidence.pretrainings):
        return None
    return _draw(_curves, evidence)


def milestones(evidence: Evidence) -> bytes | None:
    """An SVG of what was measured during pre-training, over its steps; None where only its end was."""
    if not any(len(evidence.over_steps(row, name)) > 1 for row in evidence.variants for name in evidence.measurements):
        return None
    return _draw(_milestones, evidence)


@cache
def _colours() -> tuple[str, ...]:
    import seaborn

    return tuple(seaborn.color_palette("colorblind").as_hex())


def _draw(draw: Any, evidence: Evidence) -> bytes:
    import matplotlib as mpl
    import seaborn

    file = io.BytesIO()
    with mpl.rc_context(), warnings.catch_warnings():
        # a name in another script
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font|Matplotlib currently does not support")
        mpl.rcdefaults()
        mpl.rcParams.update(seaborn.axes_style("whitegrid") | seaborn.plotting_context("paper") | _STYLE)
        figure = draw(evidence)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def _points(evidence: Evidence) -> Figure:
    from matplotlib.figure import Figure

    names, rows = evidence.measurements, evidence.variants
    seeds = sorted({cell.pretrain_seed for cell in evidence.cells})
    colours = {seed: _colours()[0 if len(seeds) > len(_colours()) else place] for place, seed in enumerate(seeds)}
    across = min(_PANELS, len(names))
    down = math.ceil(len(names) / across)
    height = down * (0.85 + 0.33 * len(rows)) + 0.45
    figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
    grid = figure.subplots(down, across, sharey=True, squeeze=False)
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    for name, axes in zip(names, grid.flat, strict=False):
        _panel(axes, evidence, name, colours)
    grid[0, 0].set_yticks(range(len(rows)), [escape.figure(row, 22) for row in rows])
    grid[0, 0].set_ylim(len(rows) - 0.45, -0.55)
    _legend(figure, _points_keys(evidence, colours), 6)
    return figure


def _panel(axes: Axes, evidence: Evidence, name: str, colours: dict[int, str]) -> None:
    """A measurement: each row's restarts small, its seeds large and one above the other, its mean as a bar."""
    from matplotlib.ticker import MaxNLocator

    low, high = _view(evidence, name)
    for line, row in enumerate(evidence.variants):
        scores = evidence.scores(row, name)
        means = scores.seed_means()
        if not means:
            continue
        centre = mean(list(means.values()))
        if not low <= centre <= high:
            side, x, text = ("left", 0.02, f"◂ {centre:.1f}") if centre < low else ("right", 0.98, f"{centre:.1f} ▸")
            axes.text(x, line, text, transform=axes.get_yaxis_transform(), ha=side, va="center", color=_INK)
            continue
        for place, seed in enumerate(colours):
            if seed in means:
                at = line + (place - (len(colours) - 1) / 2) * 0.55 / len(colours)
                each = scores.by_seed[seed]
                if len(each) > 1:
                    small: dict[str, Any] = {"markersize": 3, "alpha": 0.45, "markeredgewidth": 0}
                    axes.plot(each, [at] * len(each), "o", color=colours[seed], zorder=3, **small)
                axes.plot(means[seed], at, "o", color=colours[seed], markersize=6.5, mec="white", mew=0.8, zorder=4)
                for cell in evidence.collapsed(row, name):
                    if cell.pretrain_seed == seed and cell.value is not None:
                        axes.plot(cell.value, at, "x", color=_INK, markersize=5, mew=1.1, zorder=6)
        axes.plot([centre, centre], [line - 0.38, line + 0.38], color=_INK, linewidth=1.4, zorder=5)
    baseline = evidence.summary(evidence.baseline, name)
    if baseline is not None:
        axes.axvline(baseline.mean, color=_PALE, linewidth=1, linestyle=_LEVEL, zorder=1)
    axes.set_title(escape.figure(name), color=_INK)
    axes.set_xlabel(_unit_of(evidence.column(name)[0]))
    axes.xaxis.set_major_locator(MaxNLocator(4, min_n_ticks=3))
    axes.margins(x=0.12)
    left, right = axes.get_xlim()
    wider = max(0.0, _SPAN - (right - left)) / 2
    axes.set_xlim(left - wider, right + wider)
    _plain(axes)


def _view(evidence: Evidence, name: str) -> tuple[float, float]:
    """The range of points that is drawn to scale: rows without pre-training do not squeeze the others together."""
    values: dict[bool, list[float]] = {True: [], False: []}
    for row in evidence.variants:
        by_seed = evidence.scores(row, name).by_seed
        values[evidence.untrained(row)] += [value for each in by_seed.values() for value in each]
    if not values[True] or not values[False]:
        return -math.inf, math.inf
    low, high = min(values[False]), max(values[False])
    slack = 1.5 * max(_SPAN, high - low)
    return low - slack, high + slack


def _points_keys(evidence: Evidence, colours: dict[int, str]) -> list[tuple[Artist, str]]:
    from matplotlib.lines import Line2D

    def mark(**style: Any) -> Line2D:
        return Line2D(
            [], [], **{"marker": "o", "linestyle": "", "markeredgecolor": "white", "markersize": 6.5, **style}
        )

    keys: list[tuple[Artist, str]] = []
    if len(set(colours.values())) < len(colours):
        keys.append((mark(color=_colours()[0]), "a pre-training seed"))
    else:
        keys += [(mark(color=colour), f"seed {seed}") for seed, colour in colours.items()]
    scores = [evidence.scores(row, name) for row in evidence.variants for name in evidence.measurements]
    if any(len(each) > 1 for score in scores for each in score.by_seed.values()):
        keys.append((mark(color=_PALE, markersize=3, markeredgewidth=0), "one restart"))
    if any(evidence.collapsed(row, name) for row in evidence.variants for name in evidence.measurements):
        keys.append(
            (mark(color=_INK, marker="x", markersize=5, markeredgewidth=1.1, markeredgecolor=_INK), "collapsed")
        )
    bar = mark(color=_INK, marker="|", markersize=11, markeredgewidth=1.4, markeredgecolor=_INK)
    keys.append((bar, "mean of the row"))
    keys.append((Line2D([], [], color=_PALE, linewidth=1, linestyle=_LEVEL), "mean of the baseline"))
    return keys


def _curves(evidence: Evidence) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    drawn = [row for row in evidence.trained if any(each.curve for each in evidence.of(row))]
    causal = [row for row in drawn if any(each.causal for each in evidence.of(row))]
    rows = [row for row in drawn if row not in causal]
    own = any(point.own_loss not in (None, point.loss) for each in evidence.pretrainings for point in each.curve)
    # a row that never saw [MASK] is not judged by it, where there is another curve to judge it by
    judged = [row for row in rows if not own or any(each.sees_mask for each in evidence.of(row))]
    panels = [("15 % masked as 80/10/10", judged, "loss")] if judged else []
    if own:
        panels.append(("15 % masked as in its own training", rows, "own_loss"))
    if causal:  # a loss of another kind, on axes of its own
        panels.append(("left to right", causal, "causal_loss"))
    along = [(*each, values) for each in _ALONG if (values := _values(evidence, each[0]))]
    styles = {row: _line_style(row, drawn, evidence.baseline) for row in drawn}
    keys: list[tuple[Artist, str]] = [(Line2D([], [], **styles[row]), escape.figure(row, 32)) for row in drawn]
    plateaus = sorted({each.plateau for each in evidence.pretrainings if each.plateau is not None and each.curve})
    if plateaus:
        keys.append((Line2D([], [], color=_INK, linewidth=1, linestyle=_LEVEL), "unigram entropy"))
    columns = _columns(keys)
    height = 0.55 + 2.05 * len(panels) + 0.19 * math.ceil(len(keys) / columns)
    figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
    grid = figure.subplots(len(panels), len(along), sharex="col", sharey="row", squeeze=False)
    for line, (title, shown, name) in zip(grid, panels, strict=True):
        line[0].set_title(f"Held-out text, {title}", loc="left", color=_INK)
        line[0].set_ylabel("next-token loss (nats)" if name == "causal_loss" else "masked-LM loss (nats)")
        for axes, (what, _, units, values) in zip(line, along, strict=True):
            for row in shown:
                _curve(axes, evidence.of(row), styles[row], what, _unit(max(values), units)[0], name)
            for plateau in plateaus:
                axes.axhline(plateau, color=_INK, linewidth=1, linestyle=_LEVEL, zorder=1)
            _plain(axes)
    for axes, (what, called, units, values) in zip(grid[-1], along, strict=True):
        differ = "\non machines that differ" if what == "seconds" and len(evidence.machines) > 1 else ""
        axes.set_xlabel(f"{called}{_unit(max(values), units)[1]}{differ}")
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=_ROUND))
    _legend(figure, keys, columns)
    return figure


def _milestones(evidence: Evidence) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    rows = [row for row in evidence.variants if row not in evidence.alike and not evidence.untrained(row)]
    names = [name for name in evidence.measurements if any(len(evidence.over_steps(row, name)) > 1 for row in rows)]
    steps = {row: max((int(each.result["steps"]) for each in evidence.of(row)), default=0) for row in rows}
    scale, unit = _unit(max(steps.values()), _COUNTS)
    styles = {row: _line_style(row, rows, evidence.baseline) for row in rows}
    keys: list[tuple[Artist, str]] = [(Line2D([], [], **styles[row]), escape.figure(row, 32)) for row in rows]
    columns = _columns(keys)
    height = 3.5 + 0.19 * math.ceil(len(keys) / columns)
    figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
    for name, axes in zip(names, figure.subplots(1, len(names), squeeze=False).flat, strict=True):
        for row in rows:
            line = evidence.over_steps(row, name)
            axes.plot([part / 100 * steps[row] / scale for part in line], list(line.values()), **styles[row])
        axes.set_title(escape.figure(name), color=_INK)
        axes.set_xlabel(f"steps of pre-training{unit}")
        axes.set_ylabel(_unit_of(evidence.column(name)[0]))
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(max(3, 11 // len(names)), steps=_ROUND))
        _plain(axes)
    _legend(figure, keys, columns)
    return figure


def _values(evidence: Evidence, name: str) -> list[float]:
    """The field `name` of all points of all curves, where it is known."""
    found = [getattr(point, name) for each in evidence.pretrainings for point in each.curve]
    return [value for value in found if value is not None]


def _curve(axes: Axes, runs: list[Pretraining], style: dict[str, Any], along: str, scale: float, name: str) -> None:
    """A row's losses `name`: each seed as a thin line, their mean, over the evaluations that all have, as the bold."""
    lines: list[dict[int, tuple[float, float]]] = []
    for run in runs:
        known = [(point.step, getattr(point, along), getattr(point, name)) for point in run.curve]
        line = {step: (at / scale, loss) for step, at, loss in known if at is not None and loss is not None}
        lines += [line] if line else []
    if not lines:
        return
    if len(lines) > 1:
        for line in lines:
            axes.plot(*zip(*line.values(), strict=True), color=style["color"], lw=0.6, alpha=0.5)
    shared = [[line[step] for line in lines] for step in sorted(set(lines[0]).intersection(*lines[1:]))]
    axes.plot(*([mean([pair[part] for pair in pairs]) for pairs in shared] for part in (0, 1)), **style)


def _line_style(row: str, rows: list[str], baseline: str) -> dict[str, Any]:
    if row == baseline:
        return {"color": _INK, "linewidth": 2.2, "linestyle": "solid", "marker": "o", "markersize": 3, "zorder": 4}
    place = [each for each in rows if each != baseline].index(row)
    return {
        "color": _colours()[place % len(_colours())],
        "linewidth": 1.7,
        "linestyle": _DASHES[(place + place // len(_colours())) % len(_DASHES)],
        "marker": "o",
        "markersize": 2.5,
        "zorder": 3,
    }


def _plain(axes: Axes) -> None:
    axes.grid(True)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)


def _unit_of(cell: Cell) -> str:
    metric = escape.figure(cell.metric.upper() if len(cell.metric) < 3 else cell.metric, 16)
    return metric if cell.method == "pretraining" else f"{metric} (points)"


def _unit(most: float, units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """The largest unit of which an axis up to `most` holds at least one, or the smallest of all."""
    return next(((size, name) for size, name in units if most >= size), units[-1])


def _columns(keys: list[tuple[Artist, str]]) -> int:
    """How many keys fit side by side, four at most."""
    from matplotlib.textpath import TextPath

    widest = max(TextPath((0, 0), name, size=_STYLE["legend.fontsize"]).get_extents().width for _, name in keys)
    return max(1, min(4, int(72 * WIDTH / (widest + 36))))  # half an inch for the line and the spaces beside it


def _legend(figure: Figure, keys: list[tuple[Artist, str]], columns: int) -> None:
    handles, labels = [key[0] for key in keys], [key[1] for key in keys]
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(columns, len(keys)), columnspacing=1.4, handletextpad=0.5
    )
