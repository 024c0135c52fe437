"""What is written: the same bytes for everyone, ids that pictures of one page can have, few colours, names as words."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from bertlab.names import visible
from bertlab.report.gather import gather
from bertlab.report.plots import Picture, pictures
from bertlab.report.plots.figure import COLOURS, GRID, INK, PALE, WHITE, label
from bertlab.store.runs import Store

from .conftest import LONG, everything

KINDS = ["effects", "points", "convergence", "curves"]
PLAIN = "plainname"


@pytest.fixture
def drawn(builder: Any) -> Callable[..., list[Picture]]:
    return lambda **record: pictures(gather(Store(builder.root), [builder.record(**record)])[0])


def test_nothing_measured_draws_nothing(builder: Any, drawn: Callable[..., list[Picture]]) -> None:
    builder.cell("80/10/10", "MNLI", None, pretrain_id=builder.pretrain("80/10/10", finished=False))
    assert drawn() == []


def test_styles_of_the_user_change_nothing(builder: Any, drawn: Callable[..., list[Picture]]) -> None:
    record = everything(builder, seeds=2, rows=3, measurements=2)
    before = drawn(**record)
    assert [each.kind for each in before] == KINDS
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        assert [each.svg for each in drawn(**record)] == [each.svg for each in before]
        assert mpl.rcParams["font.size"] == 30


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_picture_is_an_element_that_a_page_can_hold(
    builder: Any, drawn: Callable[..., list[Picture]], seeds: int
) -> None:
    record = everything(builder, seeds, rows=3, measurements=2)
    colours, ids = set(), set[str]()
    for each in drawn(**record) + drawn(**{**record, "scale": "mini"}):
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
