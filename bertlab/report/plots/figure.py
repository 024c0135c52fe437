"""What all figures share: their look and size, panels, names and legend, and how they are written as SVG.

The look is one ink, two greys and a palette for the colour-blind, whatever the user has set; a page on another ground
exchanges the ink, the grid and the white.
"""

from __future__ import annotations

import hashlib
import io
import math
import textwrap
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.names import plain
from bertlab.report.plots.drawing import compact
from bertlab.report.study_results import StudyResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, PALE, GRID, WHITE = "#222222", "#8a8a8a", "#e4e4e4", "#ffffff"
COLOURS = ("#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#56b4e9", "#ca9161")
"""Seaborn's palette for the colour-blind, without its grey and what is too pale for a white ground."""
LEVEL: Any = (0, (5, 3.5))
"""The dashes of a line that marks a level and not a measurement."""
ROUND = (1, 2, 2.5, 5, 10)
"""Steps between the numbers on an axis, times a power of ten."""
SMALL = 8.5
"""Size of the numbers along an axis, in points."""
WIDTH = 7.2
"""Inches: 691 pixels at the 96 a browser gives an inch."""
SPAN = 2.0
"""Points that a panel shows at least: a tenth of a point must not look like an effect."""
_CHARACTERS = 12.5
"""Characters that fit into an inch of 9-point type, on average."""
Key = tuple[Mapping[str, Any], str]
"""An entry of a legend: its line style and its text."""


@contextmanager
def applied() -> Iterator[None]:
    """Gives this look to the figures that are drawn and written within."""
    import seaborn
    from matplotlib import style

    sheet = Path(__file__).with_name("figures.mplstyle")
    with (
        style.context([seaborn.axes_style("whitegrid"), seaborn.plotting_context("paper"), sheet], after_reset=True),
        warnings.catch_warnings(),
    ):
        # a name in another script
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font|Matplotlib currently does not support")
        yield


@dataclass(frozen=True)
class Picture:
    """A figure of a section."""

    study: StudyResults = field(repr=False)
    kind: str
    """Part of its file's name: `effects`, `points`, `convergence`, `curves`, `finetuning` or `surface`."""
    title: str
    alt: str
    """One sentence that says what it shows, for readers who cannot see it."""
    figure: Figure = field(repr=False)

    @cached_property
    def svg(self) -> bytes:
        """The figure in a file, the same bytes each time."""
        return svg(self.figure, f"{self.study.name} {self.study.key} {self.kind}")


def svg(figure: Figure, name: str) -> bytes:
    """A figure as SVG, the same bytes each time; ids are unique to `name`, so that one page can hold many figures."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    file = io.StringIO()
    canvas = FigureCanvasSVG(figure)
    with applied():
        if engine := figure.get_layout_engine():
            figure.set_dpi(72)  # of an SVG
            engine.execute(figure)
            figure.set_layout_engine("none")  # saving would draw all twice: for the layout, and in it
        canvas.print_figure(file, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    prefix = "f" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return compact(file.getvalue(), prefix).encode()


def label(name: str, inches: float = 2.0, lines: int = 1) -> str:
    """A name from data as text in a figure: wrapped to `inches`, with dollars escaped and no underscore in front."""
    width = max(4, int(inches * _CHARACTERS))
    text = "\n".join(textwrap.wrap(plain(name), width, max_lines=lines, placeholder="…")) or "…"
    # matplotlib hides labels that start with an underscore
    return (" " + text if text.startswith("_") else text).replace("$", r"\$")


def axis_name(study: StudyResults, measurement: str) -> str:
    """The unit of a measurement: its metric in points, or a metric of the pre-training in its own unit."""
    cell = study.column(measurement)[0]
    name = f"{cell.metric_name} (points)" if cell.in_points else cell.metric_name
    return f"{name}, less is better" if study.less_is_more(measurement) else name


def blank(height: float) -> Figure:
    """An empty figure of `height` inches."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(figsize=(WIDTH, height), layout=ConstrainedLayoutEngine(w_pad=0.09, h_pad=0.05), facecolor="white")


def by_variant(study: StudyResults, names: Mapping[str, str], variants: Sequence[str]) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each measurement; in each panel, the variants are at y = 0, 1, ... from the top.

    `names` are the measurements, each with what its title adds.
    """
    from matplotlib.ticker import MaxNLocator

    across = 2 if len(names) == 4 else min(3, len(names))
    down = math.ceil(len(names) / across)
    room = (WIDTH - 1.7) / across - 0.2
    figure = blank(down * (0.95 + 0.33 * len(variants)) + 0.2)
    panels = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
    for (name, more), axes in zip(names.items(), panels, strict=False):
        axes.set_title(label(study.head(name) + more, room, lines=2))
        axes.set_xlabel(label(axis_name(study, name), room, lines=2))
        axes.xaxis.set_major_locator(MaxNLocator(min(6, max(2, int(room / 0.5))), steps=ROUND))
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    panels[0].set_yticks(range(len(variants)), [label(variant, 1.5, lines=2) for variant in variants], linespacing=1.05)
    panels[0].set_ylim(len(variants) - 0.45, -0.55)
    return figure, list(panels[: len(names)])


def limit(axes: Axes, study: StudyResults, measurement: str, values: Collection[float]) -> None:
    """Sets the limits of an axis: those of the values, at least `SPAN` points apart, with a margin."""
    low, high = min(values), max(values)
    least = SPAN if study.column(measurement)[0].in_points else 0.0
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
