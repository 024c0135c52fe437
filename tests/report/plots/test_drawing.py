"""Pictures: the small SVG has the lines, markers, bands and words of the figure; points, surfaces; the same bytes for
everyone, and names as words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from bertlab.names import visible
from bertlab.report.gather import gather
from bertlab.report.plots import Picture, pictures
from bertlab.report.plots.figure import COLOURS, GRID, INK, PALE, WHITE, label, svg
from bertlab.store.runs import Store

from .conftest import LONG, everything

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


Figures = Callable[..., dict[str, Any]]


def marks(axes: Any) -> list[tuple[float, float]]:
    """The points of seeds, which have an edge."""
    found = [each for each in axes.collections if len(each.get_offsets()) and each.get_linewidths()[0] > 0]
    return [(float(x), float(y)) for each in found for x, y in each.get_offsets()]


@pytest.mark.parametrize(("seeds", "colours"), [(3, 3), (10, 1)])
def test_seeds_have_colours_as_long_as_there_are_enough(
    builder: Any, figures: Figures, seeds: int, colours: int
) -> None:
    for seed in range(seeds):
        run_id = builder.pretrain(LONG, seed)
        builder.cell(LONG, "MNLI", 50.0 + seed, seed, pretrain_id=run_id)
    figure = figures(baseline=LONG)["points"]
    found = sorted(marks(figure.axes[0]))
    assert [x for x, _ in found] == [50.0 + seed for seed in range(seeds)]
    heights = [y for _, y in found]
    assert heights == sorted(set(heights)), "one above the other"
    used = {to_hex(each) for marked in figure.axes[0].collections for each in marked.get_facecolors()}
    assert used == set(COLOURS[:colours])
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert ("a pre-training seed" in keys) is (colours == 1)


def test_runs_that_collapsed_are_marked(builder: Any, figures: Figures) -> None:
    run_id = builder.pretrain("80/10/10")
    for restart, value in enumerate((50.0, 33.3, 51.0)):
        status = "collapsed" if value == 33.3 else "done"
        builder.cell("80/10/10", "MNLI", value, finetune_seed=restart, pretrain_id=run_id, status=status)
    figure = figures()["points"]
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert [float(x) for line in crosses for x in line.get_xdata()] == [33.3]
    assert marks(figure.axes[0]) == [(50.0, 0), (33.3, 0), (51.0, 0)]
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"collapsed", "seed 0"} <= set(keys)


def test_restarts_on_a_checkpoint_are_what_is_counted(builder: Any, figures: Figures) -> None:
    builder.pretrain("80/10/10")
    for restart, value in enumerate((50.0, 52.0, 51.0)):
        builder.cell("80/10/10", "MNLI", value, finetune_seed=restart)
        builder.cell("100/0/0", "MNLI", value + 1, finetune_seed=restart)
    found = figures(pretrained="bert")
    assert sorted(x for x, _ in marks(found["points"].axes[0])) == [50, 51, 51, 52, 52, 53]
    assert "a fine-tuning seed" in [text.get_text() for text in found["points"].legends[0].get_texts()]
    assert (
        found["effects"].legends[0].get_title().get_text()
        == "Each variant minus 80/10/10, n = 3 fine-tuning seeds; each interval by itself"
    )


ALONG, SIDEWAYS = (-0.5, 0.0, 0.5, 1.0, 1.5), (-1.0, 0.0, 1.0)


def surface(builder: Any, variant: str, steepness: float) -> None:
    """A fine-tuning whose loss grows from the end of training."""
    builder.cell(variant, "MNLI", 60.0, pretrain_id=builder.pretrain(variant))
    (path,) = builder.root.glob(f"finetune/{builder.cells[-1]['run_id']}--*/result.json")
    losses = [[0.1 + steepness * ((x - 1) ** 2 + y**2) for x in ALONG] for y in SIDEWAYS]
    data = {"along": ALONG, "sideways": SIDEWAYS, "losses": losses}
    path.write_text(json.dumps({**json.loads(path.read_text()), "surface": data}))
    builder.seal(path.parent)


def test_a_panel_for_each_variant_with_the_same_axes_and_contours(builder: Any, figures: Figures) -> None:
    surface(builder, "80/10/10", 1.0)
    surface(builder, "100/0/0", 4.0)
    wide, narrow = figures()["surface"].axes
    assert (wide.get_title("left"), narrow.get_title("left")) == ("MNLI, 80/10/10", "MNLI, 100/0/0")
    assert wide.get_xlim() == narrow.get_xlim()
    assert [line.get_xdata().tolist() for line in wide.lines] == [[0], [1]], "the start and the end"
    assert wide.get_xlabel() == "from the start (0) to the end (1) of training"
    contours = [set(axes.collections[0].levels) for axes in (wide, narrow)]
    assert contours[0] < contours[1]
    area = [np.ptp(axes.collections[0].get_paths()[0].vertices[:, 1]) for axes in (wide, narrow)]
    assert area[0] > area[1], "the lowest contour of both is wider where the loss grows less"


def test_a_loss_that_is_not_finite_is_left_out_and_no_surface_is_no_figure(builder: Any, figures: Figures) -> None:
    builder.cell("80/10/10", "MNLI", 60.0, pretrain_id=builder.pretrain("80/10/10"))
    assert "surface" not in figures()
    (path,) = builder.root.glob("finetune/*/result.json")
    data = {"along": [0.0, 1.0], "sideways": [-1.0, 1.0], "losses": [[1.0, None], [2.0, 0.5]]}
    path.write_text(json.dumps({**json.loads(path.read_text()), "surface": data}))
    builder.seal(path.parent)
    assert "surface" in figures()


KINDS = ["effects", "points", "convergence", "curves"]
PLAIN = "plainname"


@pytest.fixture
def pictures_of(builder: Any) -> Callable[..., list[Picture]]:
    return lambda **record: pictures(gather(Store(builder.root), [builder.record(**record)])[0])


def test_nothing_measured_draws_nothing(builder: Any, pictures_of: Callable[..., list[Picture]]) -> None:
    builder.cell("80/10/10", "MNLI", None, pretrain_id=builder.pretrain("80/10/10", finished=False))
    assert pictures_of() == []


def test_styles_of_the_user_change_nothing(builder: Any, pictures_of: Callable[..., list[Picture]]) -> None:
    record = everything(builder, seeds=2, rows=3, measurements=2)
    before = pictures_of(**record)
    assert [each.kind for each in before] == KINDS
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        assert [each.svg for each in pictures_of(**record)] == [each.svg for each in before]
        assert mpl.rcParams["font.size"] == 30


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_picture_is_an_element_that_a_page_can_hold(
    builder: Any, pictures_of: Callable[..., list[Picture]], seeds: int
) -> None:
    record = everything(builder, seeds, rows=3, measurements=2)
    colours, ids = set(), set[str]()
    for each in pictures_of(**record) + pictures_of(**{**record, "scale": "mini"}):
        text = each.svg.decode()
        used = set(re.findall(r"(?:fill|stroke)=\"([^\"]+)", text))
        assert used <= {*COLOURS, INK, PALE, GRID, WHITE, "none"}, each.kind
        colours |= used
        own = re.findall(r'\bid="([^"]*)"', text)
        assert own
        assert len(set(own)) == len(own)
        assert set(re.findall(r"(?:href=\"|url\()#([^\")]*)", text)) <= set(own)
        assert not ids.intersection(own), "of one picture alone"
        ids |= set(own)
        root = ElementTree.fromstring(each.svg)
        tags = {element.tag.partition("}")[2] for element in root.iter()}
        assert tags <= {"svg", "g", "path", "circle", "text", "clipPath", "rect"}, "no style sheet, no metadata"
        assert each.svg.startswith(b"<svg ")
        assert root.get("width") == "518.4pt"
        assert b"<!--" not in each.svg
        assert LONG not in each.alt
        assert each.alt.endswith(".")
    assert {COLOURS[0], INK, GRID, WHITE} <= colours


def test_the_palette_is_that_for_the_colour_blind() -> None:
    import seaborn

    assert set(COLOURS) <= set(seaborn.color_palette("colorblind").as_hex())


def test_hostile_names_are_only_words(builder: Any, hostile_names: list[str]) -> None:
    def tags(names: list[str], root: Path) -> set[str]:
        made = type(builder)(root)
        for place, name in enumerate(names):
            run_id = made.pretrain(name, parameters=1000 * (place + 1))
            for milestone in (50, 100):
                made.cell(name, "MNLI", 50.0, pretrain_id=run_id, milestone=milestone)
        for cell in made.cells:
            cell["measurement"], cell["task"], cell["metric"] = names[0], names[-1], cell["metric"]
        study = gather(Store(root), [made.record(baseline=names[0])])[0]
        found = set()
        kinds = []
        for each in pictures(study):
            kinds.append(each.kind)
            for element in ElementTree.fromstring(each.svg).iter():
                found.add(element.tag)
                assert not any(key.startswith("on") for key in element.attrib)
                assert element.text is None or visible(element.text) == element.text
                assert all(link.startswith("#") for key, link in element.attrib.items() if key.endswith("href"))
        assert kinds == KINDS
        return found

    usual = tags([PLAIN, "other"], builder.root / PLAIN)
    for start in range(0, len(hostile_names), 40):
        assert tags(hostile_names[start : start + 40], builder.root / str(start)) == usual


def test_labels_are_neither_formulas_nor_hidden() -> None:
    assert label("$x$") == "\\$x\\$"
    assert label("a word " * 9, 1.0).endswith("…")
    assert label("one two", 0.3, lines=2) == "one\ntwo"
    assert not label("_hidden").startswith("_")
    assert label("\u200b") == "…"
