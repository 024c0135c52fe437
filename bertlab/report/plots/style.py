"""The look of every figure: one ink, two greys and a palette for the colour-blind, whatever the user has set.

A page on another ground exchanges the ink, the grid and the white; no other greys and no other whites are used.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

INK, PALE, GRID, WHITE = "#222222", "#8a8a8a", "#e4e4e4", "#ffffff"

COLOURS = ("#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#56b4e9", "#ca9161")
"""Seaborn's palette for the colour-blind, without its grey and what is too pale for a white ground."""

MARKERS = ("o", "s", "^", "v", "D", "p", "<", ">")

DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
LEVEL: Any = (0, (5, 3.5))
"""The dashes of a line that marks a level and is no measurement."""

ROUND = (1, 2, 2.5, 5, 10)
"""Steps between the numbers on an axis, but for powers of ten."""

TEXT, TITLE, SMALL = 9.0, 9.5, 8.5
"""Sizes of type, in points."""

_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "bertlab",
    "svg.fonttype": "path",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same on every machine
    "font.size": TEXT,
    "axes.titlesize": TITLE,
    "axes.labelsize": TEXT,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": TEXT,
    "legend.fontsize": SMALL,
    "legend.title_fontsize": SMALL,
    "legend.frameon": False,
    **dict.fromkeys(("text.color", "axes.titlecolor", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), PALE),
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(("xtick.major.size", "ytick.major.size", "xtick.minor.size"), 0),
    "xtick.major.pad": 6.5,  # below the number in the corner of the other axis
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "patch.force_edgecolor": False,
}


@contextmanager
def applied() -> Iterator[None]:
    """Gives this look to the figures that are made and written within."""
    import matplotlib as mpl
    import seaborn

    with mpl.rc_context(), warnings.catch_warnings():
        # a name in another script
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font|Matplotlib currently does not support")
        mpl.rcdefaults()
        mpl.rcParams.update(seaborn.axes_style("whitegrid") | seaborn.plotting_context("paper") | _SETTINGS)
        yield


def lines(variants: Sequence[str], baseline: str) -> dict[str, dict[str, Any]]:
    """The line of each variant: the baseline in ink and bold, the others in colours and dashes that differ."""
    styles: dict[str, dict[str, Any]] = {}
    for place, each in enumerate(each for each in variants if each != baseline):
        dashes = DASHES[(place + place // len(COLOURS)) % len(DASHES)]
        styles[each] = {"color": COLOURS[place % len(COLOURS)], "linewidth": 1.7, "linestyle": dashes, "zorder": 3}
    bold = {"color": INK, "linewidth": 2.2, "linestyle": "solid", "zorder": 4}
    return {each: {"marker": "o", "markersize": 2.5} | styles.get(each, bold) for each in variants}
