"""What changed between two stores: nothing where nothing did, else each value, mean and verdict that differs."""

from __future__ import annotations

import csv
import dataclasses
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bertlab.lab.study import Claim
from bertlab.report import page, tidy
from bertlab.report.compare import Changes, compare
from bertlab.report.gather import gather_all
from bertlab.store.runs import Store

OTHER, BASELINE = "0/0/100", "80/10/10"


@pytest.fixture
def stores(builder: Any, tmp_path: Path) -> tuple[Any, Any]:
    """Builders of an old and a new store."""
    return type(builder)(tmp_path / "old"), type(builder)(tmp_path / "new")


def put(builder: Any, points: Sequence[float], variant: str = BASELINE, mark: str = "a") -> None:
    """A pre-training and its MNLI for each of the points, by seed; runs have the same ids where `mark` is the same."""
    for seed, value in enumerate(points):
        place = f"{mark}{list(variant).count('0')}{seed}"
        builder.pretrain(variant, seed, run_id=f"{place}0")
        builder.cell(variant, "MNLI", value, seed, pretrain_id=f"{place}0", run_id=f"{place}1")


def between(stores: tuple[Any, Any]) -> Changes:
    for each in stores:
        each.record()
    return compare(*(gather_all(Store(each.root)) for each in stores), "old")


def test_a_copy_has_not_changed(builder: Any, fill: Callable[..., None], tmp_path: Path) -> None:
    fill(builder)
    builder.record()
    shutil.copytree(builder.root, tmp_path / "copy")
    report = page.write([], tmp_path / "copy", tmp_path / "out", since=builder.root)
    assert report.changes
    assert report.changes.summary == "No value changed: the same runs; 0 means moved, 0 verdicts changed."
    assert len((tmp_path / "out" / "compare.csv").read_text().splitlines()) == 1


def test_more_seeds_move_a_mean(stores: tuple[Any, Any]) -> None:
    put(stores[0], [50.0, 52.0, 54.0, 56.0])
    put(stores[1], [50.0, 52.0, 54.0, 56.0, 63.0])
    found = between(stores)
    assert found.means.rows == ((f"masking, tiny: {BASELINE}", "MNLI", "53.00", "55.00"),)
    assert (list(found.values["value_old"]), list(found.values["value_new"])) == ([None], [63.0])
    assert found.summary == "1 value changed; 1 mean moved, 0 verdicts changed."


def test_recipes_of_one_setting_are_compared_each_with_itself(stores: tuple[Any, Any]) -> None:
    new = stores[1]
    for store in stores:
        put(store, [60.0])
        store.record()
    new.cells.clear()
    new.rows.clear()
    put(new, [80.0], mark="b")
    new.record("other", setting="a wider model")
    sections = [gather_all(Store(each.root)) for each in stores]
    assert [len(each) for each in sections] == [1, 2]
    assert len({(each.name, each.scale, each.setting) for each in sections[1]}) == 1
    found = compare(*sections, "old")
    assert found.means.rows == ((f"masking, tiny: {BASELINE}", "MNLI", "", "80.00"),)
    assert found.summary == "1 value changed; 1 mean moved, 0 verdicts changed."


def test_what_became_of_each_value(stores: tuple[Any, Any]) -> None:
    old, new = stores
    put(old, [50.0, 60.0])
    put(new, [51.0], mark="a")  # the same id, another value
    put(new, [70.0], OTHER)
    old.cell(BASELINE, "NER", 80.0, run_id="cc")
    new.cell(BASELINE, "NER", 80.0, run_id="dd")
    old.cell(BASELINE, "NER", None, finetune_seed=1, run_id="ee")
    new.cell(BASELINE, "NER", 80.0, finetune_seed=1, run_id="ee")
    found = between(stores).values
    changes = {
        (each.variant, each.measurement, each.pretrain_seed, each.finetune_seed): (each.value_old, each.value_new)
        for each in found.itertuples()
    }
    assert changes == {
        (BASELINE, "MNLI", 0, 0): (50.0, 51.0),
        (OTHER, "MNLI", 0, 0): (None, 70.0),
        (BASELINE, "MNLI", 1, 0): (60.0, None),
        (BASELINE, "NER", 0, 0): (80.0, 80.0),
        (BASELINE, "NER", 0, 1): (None, 80.0),
    }


def test_verdicts_that_changed(stores: tuple[Any, Any]) -> None:
    claims = [
        dataclasses.asdict(Claim("Random tokens hurt", better=BASELINE, worse=OTHER, on="MNLI")),
        dataclasses.asdict(Claim("Random tokens help", better=OTHER, worse=BASELINE, on="MNLI")),
    ]
    for store, seeds in ((stores[0], 2), (stores[1], 5)):
        put(store, [60.0, 60.2, 60.1, 60.3, 59.9][:seeds])
        put(store, [50.0, 50.3, 50.0, 50.4, 50.1][:seeds], OTHER)
    stores[0].record(claims=claims[:1])
    stores[1].record(claims=claims)
    found = compare(*(gather_all(Store(each.root)) for each in stores), "old").verdicts.rows
    assert found == (
        ("masking, tiny: Random tokens hurt", "MNLI", "undecided", "reproduced"),
        ("masking, tiny: Random tokens help", "MNLI", "", "contradicted"),
    )


def test_the_pages_and_the_csv_have_every_change(
    stores: tuple[Any, Any], hostile_names: list[str], tmp_path: Path
) -> None:
    for place, name in enumerate(hostile_names[:12]):
        for store, mark, more in ((stores[0], "a", 0), (stores[1], "b", 1)):
            store.pretrain(name, run_id=f"{mark}{place:x}0")
            store.cell(name, "MNLI", 50.0 + more, pretrain_id=f"{mark}{place:x}0", run_id=f"{mark}{place:x}1")
    for each in stores:
        each.record(baseline=hostile_names[0])
    report = page.write([], stores[1].root, tmp_path / "out", since=stores[0].root)
    assert report.changes
    assert len(report.changes.values) == 12
    lines = list(csv.DictReader((tmp_path / "out" / "compare.csv").read_text(encoding="utf-8").splitlines()))
    assert [(line["value_old"], line["value_new"]) for line in lines] == [("50.0", "51.0")] * 12
    assert tidy.csv(report.changes.values) == (tmp_path / "out" / "compare.csv").read_text(encoding="utf-8")
    for front in ("index.md", "index.html"):
        text = (tmp_path / "out" / front).read_text(encoding="utf-8")
        assert text.count("51.00") >= 12
        assert text.count("<script") == (1 if front == "index.html" else 0), "a name became markup"
