"""The small SVG has the lines, markers, bands and words of the figure, where matplotlib has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from bertlab.report.plots.figure import COLOURS, INK, svg

SPACE = "{http://www.w3.org/2000/svg}"
TENTH = 0.051


@pytest.fixture
def figure() -> Figure:
    """216 x 144 points, without a layout that moves the axes."""
    figure = Figure(figsize=(3, 2))
    figure.subplots().set(xlim=(0, 10), ylim=(0, 5))
    return figure


def drawn(figure: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(svg(figure, "a figure"))


def lines(root: ElementTree.Element, **attributes: str) -> Iterator[list[tuple[float, float]]]:
    """The corners of each line of the paths with these attributes."""
    for path in root.iter(f"{SPACE}path"):
        if all(path.get(key) == value for key, value in attributes.items()):
            for line in path.attrib["d"].split("M")[1:]:
                x, y, *steps = (float(each) for each in re.findall(r"-?[\d.]+", line))
                corners = [(x, y)]
                for right, down in zip(steps[::2], steps[1::2], strict=True):
                    corners.append((corners[-1][0] + right, corners[-1][1] + down))
                yield corners


def places(figure: Figure, *points: tuple[float, float]) -> list[tuple[float, float]]:
    """Points of the axes in those of the page, downwards."""
    return [(x * 0.72, 144 - y * 0.72) for x, y in figure.axes[0].transData.transform(points)]


def test_lines_and_bands_are_where_they_were(figure: Figure) -> None:
    points = [(1.0, 1.0), (2.5, 4.0), (3.3, 2.9), (9.0, 0.5)]
    figure.axes[0].plot(*zip(*points, strict=True), color=COLOURS[0])
    figure.axes[0].fill_between([1, 9], [1, 2], [3, 4], color=COLOURS[1], alpha=0.2, linewidth=0)
    root = drawn(figure)
    (line,) = lines(root, stroke=COLOURS[0])
    assert line == [pytest.approx(each, abs=TENTH) for each in places(figure, *points)]
    (band,) = lines(root, fill=COLOURS[1])
    corners = [pytest.approx(each, abs=TENTH) for each in places(figure, (1, 1), (1, 3), (9, 2), (9, 4))]
    assert all(each in band for each in corners)


def test_markers_stand_at_their_points(figure: Figure) -> None:
    figure.axes[0].plot([2, 6], [1, 4], "o", color=COLOURS[0], markersize=5)
    figure.axes[0].plot([3], [3], "D", color=COLOURS[1], markersize=4, markerfacecolor="none")
    root = drawn(figure)
    circles = list(root.iter(f"{SPACE}circle"))
    found = [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in circles]
    assert found == [pytest.approx(each, abs=TENTH) for each in places(figure, (2, 1), (6, 4))]
    assert {each.attrib["r"] for each in circles} == {"2.5"}
    (corners,) = lines(root, stroke=COLOURS[1])
    (x, y) = (sum(each) / 4 for each in zip(*corners, strict=True))
    assert (x, y) == pytest.approx(places(figure, (3, 3))[0], abs=TENTH)


def test_words_are_text(figure: Figure) -> None:
    name = """<b> & "#222222" of 'x' --> \\$1"""
    figure.axes[0].set_xlabel(name, color=INK)
    figure.axes[0].set_ylabel("upwards", color=INK)
    texts = {each.text: each for each in drawn(figure).iter(f"{SPACE}text")}
    assert float(texts[name.replace("\\$", "$")].attrib["y"]) > 120
    assert "rotate(-90)" in texts["upwards"].attrib["transform"]


def test_it_is_small(figure: Figure) -> None:
    before = len(svg(figure, "a figure"))
    for place in range(10):
        figure.axes[0].plot(range(20), [place / 2] * 20, color=COLOURS[0])
    assert len(svg(figure, "a figure")) - before < 10 * 20 * 8
