"""Several seeds as one line: their mean, and from the least to the most of them as a band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertlab.report.evidence import Evidence
from bertlab.report.plots.labels import cut
from bertlab.report.plots.layout import Key
from bertlab.report.plots.style import ROUND, SMALL
from bertlab.report.statistics.summary import mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TIME = "training time"
"""The name of an axis of time."""

Line = Mapping[int, tuple[float, float]]
"""The points of a seed, by step: where along the axis, and the value."""


@dataclass(frozen=True)
class Band:
    """The seeds of a row along an axis, at the steps that all of them have."""

    seeds: int
    along: list[float]
    """Means over the seeds, which differ where the axis is time."""
    mean: list[float]
    low: list[float]
    high: list[float]


def band(lines: Sequence[Line]) -> Band:
    """The band of at least one line."""
    steps = sorted(set(lines[0]).intersection(*lines[1:]))
    values = [[line[step][1] for line in lines] for step in steps]
    return Band(
        seeds=len(lines),
        along=[mean([line[step][0] for line in lines]) for step in steps],
        mean=[mean(each) for each in values],
        low=[min(each) for each in values],
        high=[max(each) for each in values],
    )


def draw(axes: Axes, drawn: Band, style: dict[str, Any]) -> None:
    """The line of a band in its style, and of several seeds the band in its colour."""
    if drawn.seeds > 1:
        axes.fill_between(drawn.along, drawn.low, drawn.high, color=style["color"], alpha=0.18, linewidth=0, zorder=2)
    axes.plot(drawn.along, drawn.mean, **style)


def keys(styles: Mapping[str, dict[str, Any]]) -> list[Key]:
    """The keys of rows and their styles."""
    from matplotlib.lines import Line2D

    return [(Line2D([], [], **each), cut(row, 2.6, SMALL)) for row, each in styles.items()]


def along(panels: Sequence[Axes], names: Sequence[str], evidence: Evidence) -> None:
    """What the panels of the lowest line are drawn over, each from 0; of times also whether machines differ."""
    from matplotlib.ticker import MaxNLocator

    for axes, name in zip(panels, names, strict=True):
        differ = "\non machines that differ" if name.startswith(TIME) and len(evidence.machines) > 1 else ""
        axes.set_xlabel(f"{name}{differ}")
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=ROUND))


def told(seeds: int) -> str:
    """How a figure with bands of up to `seeds` seeds is read; nothing of one seed."""
    return "Line: mean over the pre-training seeds. Band: from the lowest to the highest seed." if seeds > 1 else ""
