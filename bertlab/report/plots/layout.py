"""Where things stand in a figure: its width, panels side by side, names of rows, keys below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertlab.report.plots.labels import cut, width, wrapped
from bertlab.report.plots.style import ROUND, SMALL, TITLE, bare

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.2
"""Inches: 691 pixels at the 96 a browser gives an inch."""

_ACROSS = 3
"""Panels side by side at most."""
_GAP = 0.09
"""Inches around a panel: the last number of an axis and the first of the next stay apart."""
_NAMES = 1.55
"""Inches that the names of rows take at most."""

Key = tuple["Artist", str]
"""What a legend shows, and its text, escaped."""


@dataclass(frozen=True)
class Drawing:
    """A figure before it is written."""

    kind: str
    title: str
    alt: str
    figure: Figure


def blank(height: float) -> Figure:
    """An empty figure of `height` inches."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(figsize=(WIDTH, height), layout=ConstrainedLayoutEngine(w_pad=_GAP, h_pad=0.05), facecolor="white")


def by_row(titles: Sequence[str], rows: Sequence[str]) -> tuple[Figure, list[Axes], float]:
    """A panel a title, and in each a line a row, at 0, 1, ... from above; with the panels' width in inches."""
    across = 2 if len(titles) == 4 else min(_ACROSS, len(titles))
    down = math.ceil(len(titles) / across)
    names = [wrapped(row, _NAMES) for row in rows]
    taken = max(width(line) for name in names for line in name.split("\n"))
    room = (WIDTH - taken - 0.1) / across - 2 * _GAP
    figure = blank(down * (0.95 + 0.33 * len(rows)) + 0.2)
    grid = figure.subplots(down, across, sharey=True, squeeze=False)
    for title, axes in zip(titles, grid.flat, strict=False):
        axes.set_title(wrapped(title, room, TITLE))
        bare(axes)
    for axes in grid.flat[len(titles) :]:
        axes.set_visible(False)
    grid[0, 0].set_yticks(range(len(rows)), names, linespacing=1.05)
    grid[0, 0].set_ylim(len(rows) - 0.45, -0.55)
    return figure, list(grid.flat[: len(titles)]), room


def numbers(axes: Axes, room: float) -> None:
    """As many round numbers along a panel `room` inches wide as it has room for."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(min(8, max(2, int(room / 0.45))), steps=ROUND))


def legend(figure: Figure, keys: Sequence[Key], told: str = "") -> None:
    """Makes a figure higher by its keys, as many side by side as there is room for, under what is `told` of all."""
    lines = math.ceil(len(keys) / columns(keys)) + bool(told)
    figure.set_figheight(figure.get_figheight() + 0.19 * lines)
    figure.legend(
        [key[0] for key in keys],
        [key[1] for key in keys],
        title=cut(told, WIDTH - 0.4, SMALL) if told else None,
        loc="outside lower center",
        ncols=columns(keys),
        columnspacing=1.4,
        handletextpad=0.5,
    )


def columns(keys: Sequence[Key]) -> int:
    """How many keys fit side by side, four at most."""
    widest = max(width(name, SMALL) for _, name in keys)
    return max(1, min(4, len(keys), int(WIDTH / (widest + 0.5))))  # half an inch for the line and the spaces beside it
