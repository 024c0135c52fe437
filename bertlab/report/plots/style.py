"""The look of every figure: one ink, two greys and a palette for the colour-blind, whatever the user has set.

A page on another ground exchanges the ink, the grid and the white; figures have no other greys and no other whites.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

INK, PALE, GRID, WHITE = "#222222", "#8a8a8a", "#e4e4e4", "#ffffff"

COLOURS = ("#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#56b4e9", "#ca9161")
"""Seaborn's palette for the colour-blind, without its grey and what is too pale for a white ground."""

DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
LEVEL: Any = (0, (5, 3.5))
"""The dashes of a line that marks a level and not a measurement."""

ROUND = (1, 2, 2.5, 5, 10)
"""Steps between the numbers on an axis, times a power of ten."""

SMALL = 8.5
"""Size of the numbers along an axis, in points."""


@contextmanager
def applied() -> Iterator[None]:
    """Gives this look to the figures that are drawn and written within."""
    import seaborn
    from matplotlib import style

    own = Path(__file__).with_name("figures.mplstyle")
    with (
        style.context([seaborn.axes_style("whitegrid"), seaborn.plotting_context("paper"), own], after_reset=True),
        warnings.catch_warnings(),
    ):
        # a name in another script
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font|Matplotlib currently does not support")
        yield


def lines(variants: Sequence[str], baseline: str) -> dict[str, dict[str, Any]]:
    """The line of each variant: the baseline in ink and bold, the others in colours and dashes that differ."""
    common = {"marker": "o", "markersize": 2.5}
    styles = {baseline: {**common, "color": INK, "linewidth": 2.2, "linestyle": "solid", "zorder": 4}}
    for place, each in enumerate(each for each in variants if each != baseline):
        dashes = DASHES[(place + place // len(COLOURS)) % len(DASHES)]
        styles[each] = {**common, "color": COLOURS[place % len(COLOURS)], "linewidth": 1.7, "linestyle": dashes}
    return {each: {"zorder": 3, **styles[each]} for each in variants}
