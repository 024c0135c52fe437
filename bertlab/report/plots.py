"""The figures of a report: per-seed points, and pre-training curves. SVG, 7.2 inches wide, the same bytes each time.

Drawn with matplotlib's objects alone: no global state, no window system, no styles of the user's. Colours are those of
Okabe and Ito (2008), which the colour-blind tell apart; lines differ in their dashes too.
"""

from __future__ import annotations

import io
import math
import warnings
from typing import TYPE_CHECKING, Any

from bertlab.report import escape
from bertlab.report.evidence import Evidence, Point, Pretraining
from bertlab.report.statistics import mean

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.2
"""Inches: 691 pixels at the 96 a browser gives an inch."""

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C6D46", "#7F7F7F")
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
_INK, _PALE = "#222222", "#8A8A8A"
_PANELS = 3
"""Panels side by side at most."""

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
    """An SVG of held-out loss over tokens, with the unigram entropy as a dashed line; None without any curve."""
    if not any(each.curve for each in evidence.pretrainings):
        return None
    return _draw(_curves, evidence)


def _draw(draw: Any, evidence: Evidence) -> bytes:
    import matplotlib as mpl

    file = io.BytesIO()
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")  # a name in another script
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        figure = draw(evidence)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def _points(evidence: Evidence) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    names, rows = evidence.measurements, evidence.variants
    seeds = sorted({cell.pretrain_seed for cell in evidence.cells})
    many = len(seeds) > len(_COLOURS)
    across = min(_PANELS, len(names))
    down = math.ceil(len(names) / across)
    height = down * (0.85 + 0.33 * len(rows)) + 0.45
    figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
    grid = figure.subplots(down, across, sharey=True, squeeze=False)
    repeated = False
    for index, axes in enumerate(grid.flat):
        if index >= len(names):
            axes.set_visible(False)
            continue
        name = names[index]
        column = evidence.column(name)
        for line, row in enumerate(rows):
            means = evidence.scores(row, name).seed_means()
            for seed, value in means.items():
                place = seeds.index(seed)
                height_ = line + (place - (len(seeds) - 1) / 2) * 0.55 / len(seeds)
                colour = _COLOURS[0] if many else _COLOURS[place]
                each = evidence.scores(row, name).by_seed[seed]
                if len(each) > 1:
                    repeated = True
                    axes.plot(each, [height_] * len(each), "o", color=colour, markersize=3, alpha=0.45, mew=0, zorder=3)
                axes.plot(value, height_, "o", color=colour, markersize=6.5, mec="white", mew=0.8, zorder=4)
            if means:
                centre = mean(list(means.values()))
                axes.plot([centre, centre], [line - 0.38, line + 0.38], color=_INK, linewidth=1.4, zorder=5)
        baseline = evidence.summary(evidence.baseline, name)
        if baseline is not None:
            axes.axvline(baseline.mean, color=_PALE, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        axes.set_title(escape.figure(name), color=_INK)
        axes.set_xlabel(f"{escape.figure(column[0].metric, 16)} (points)")
        axes.set_yticks(range(len(rows)), [escape.figure(row, 22) for row in rows])
        axes.set_ylim(len(rows) - 0.45, -0.55)
        axes.xaxis.set_major_locator(MaxNLocator(4, min_n_ticks=3))
        axes.margins(x=0.12)
        axes.grid(True)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
    keys: list[tuple[Artist, str]] = []
    for place, seed in enumerate(seeds if not many else [0]):
        mark = Line2D([], [], color=_COLOURS[place], marker="o", linestyle="", markersize=6.5, mec="white")
        keys.append((mark, "a pre-training seed" if many else f"seed {seed}"))
    if repeated:
        mark = Line2D([], [], color=_PALE, marker="o", linestyle="", markersize=3, mew=0)
        keys.append((mark, "one restart"))
    keys.append((Line2D([], [], color=_INK, marker="|", linestyle="", markersize=11, mew=1.4), "mean of the row"))
    keys.append((Line2D([], [], color=_PALE, linewidth=1, linestyle=(0, (4, 3))), "mean of the baseline"))
    _legend(figure, keys, 6)
    return figure


def _curves(evidence: Evidence) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    rows = [row for row in evidence.variants if any(each.curve for each in evidence.of(row))]
    own = any(point.own_loss is not None for each in evidence.pretrainings for point in each.curve)
    # a row that never saw [MASK] is not judged by it, where there is another curve to judge it by
    judged = [row for row in rows if not own or any(each.sees_mask for each in evidence.of(row))]
    panels = [("15 % masked as 80/10/10", judged, False)] if judged else []
    if own:
        panels.append(("15 % masked as in its own training", rows, True))
    height = 3.7 + 0.19 * math.ceil((len(rows) + 1) / 4)
    figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
    grid = figure.subplots(1, len(panels), squeeze=False)
    plateaus = sorted({each.plateau for each in evidence.pretrainings if each.plateau is not None and each.curve})
    scale, unit = _unit(max(point.tokens for each in evidence.pretrainings for point in each.curve))
    styles = {row: _line_style(row, rows, evidence.baseline) for row in rows}
    for axes, (title, shown, under_own) in zip(grid.flat, panels, strict=True):
        for row in shown:
            _curve(axes, evidence.of(row), styles[row], scale, under_own)
        for plateau in plateaus:
            axes.axhline(plateau, color=_INK, linewidth=1, linestyle=(0, (6, 4)), zorder=1)
        axes.set_title(title, color=_INK)
        axes.set_xlabel(f"tokens trained on{unit}")
        axes.set_xlim(left=0)
        axes.grid(True)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
    grid[0, 0].set_ylabel("held-out masked-LM loss (nats)")
    keys: list[tuple[Artist, str]] = [(Line2D([], [], **styles[row]), escape.figure(row, 22)) for row in rows]
    if plateaus:
        keys.append((Line2D([], [], color=_INK, linewidth=1, linestyle=(0, (6, 4))), "unigram entropy"))
    _legend(figure, keys, 4)
    return figure


def _curve(axes: Axes, runs: list[Pretraining], style: dict[str, Any], scale: float, under_own: bool) -> None:
    """A row: each seed as a thin line, their mean, over the evaluations that all have, as the bold one."""
    lines = []
    for run in runs:
        line = {point.tokens: loss for point in run.curve if (loss := _loss(point, under_own)) is not None}
        if line:
            lines.append(line)
    if not lines:
        return
    if len(lines) > 1:
        for line in lines:
            axes.plot([tokens / scale for tokens in line], list(line.values()), color=style["color"], lw=0.6, alpha=0.5)
    shared = sorted(set(lines[0]).intersection(*lines[1:]))
    axes.plot([tokens / scale for tokens in shared], [mean([line[at] for line in lines]) for at in shared], **style)


def _loss(point: Point, under_own: bool) -> float | None:
    return point.own_loss if under_own else point.loss


def _line_style(row: str, rows: list[str], baseline: str) -> dict[str, Any]:
    if row == baseline:
        return {"color": _INK, "linewidth": 2.2, "linestyle": "solid", "marker": "o", "markersize": 3, "zorder": 4}
    place = [each for each in rows if each != baseline].index(row)
    return {
        "color": _COLOURS[place % len(_COLOURS)],
        "linewidth": 1.7,
        "linestyle": _DASHES[(place + place // len(_COLOURS)) % len(_DASHES)],
        "marker": "o",
        "markersize": 2.5,
        "zorder": 3,
    }


def _unit(tokens: float) -> tuple[float, str]:
    for size, name in ((1e9, " (billions)"), (1e6, " (millions)"), (1e3, " (thousands)")):
        if tokens >= size:
            return size, name
    return 1.0, ""


def _legend(figure: Figure, keys: list[tuple[Artist, str]], columns: int) -> None:
    handles, labels = [key[0] for key in keys], [key[1] for key in keys]
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(columns, len(keys)), columnspacing=1.4, handletextpad=0.5
    )
