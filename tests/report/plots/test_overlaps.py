"""No text lies over another or outside of its figure, however long the names are and however many seeds there are."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from .conftest import LONG, everything


def texts(figure: Figure) -> list[Text]:
    """All that is seen of text; numbers on an axis only where it is."""
    hidden = set()
    for axes in figure.axes:
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            low, high = sorted(limits)
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                inside = low <= tick.get_loc() <= high and tick.label1.get_visible() and axes.get_visible()
                hidden |= {tick.label2} if inside else {tick.label1, tick.label2}
    found = [text for axes in figure.axes if axes.get_visible() for text in axes.findobj(Text)]
    found += [text for legend in figure.legends for text in legend.findobj(Text)]
    return [text for text in found if text not in hidden and text.get_visible() and text.get_text()]


@pytest.mark.parametrize(("seeds", "rows", "name"), [(1, 9, LONG), (2, 3, "Wordswithoutanyspace" * 4), (6, 6, LONG)])
def test_no_text_lies_over_another_or_outside(
    builder: Any, figures: Callable[..., dict[str, Figure]], seeds: int, rows: int, name: str
) -> None:
    found = figures(**everything(builder, seeds, rows, measurements=5 if rows < 9 else 3, name=name))
    assert len(found) == 5
    for kind, figure in found.items():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        shown = texts(figure)
        assert len(shown) > 10
        boxes = [(text, text.get_window_extent(canvas.get_renderer())) for text in shown]
        for text, box in boxes:
            assert figure.bbox.x0 <= box.x0, (kind, text)
            assert box.x1 <= figure.bbox.x1, (kind, text)
            assert figure.bbox.y0 <= box.y0, (kind, text)
            assert box.y1 <= figure.bbox.y1, (kind, text)
        for (one, first), (two, second) in itertools.combinations(boxes, 2):
            assert not first.overlaps(second), (kind, one, two)


def test_numbers_of_neighbouring_panels_stay_apart(builder: Any, figures: Callable[..., dict[str, Figure]]) -> None:
    for kind, figure in figures(**everything(builder, seeds=3, rows=4, measurements=3)).items():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        along = {tick.label1 for axes in figure.axes for tick in axes.xaxis.get_major_ticks()}
        numbers = [text for text in texts(figure) if text in along]
        boxes = [text.get_window_extent(canvas.get_renderer()) for text in numbers]
        inch = figure.dpi
        for first, second in itertools.combinations(boxes, 2):
            if min(first.y1, second.y1) > max(first.y0, second.y0):  # on one height
                assert max(first.x0 - second.x1, second.x0 - first.x1) > 0.05 * inch, kind
