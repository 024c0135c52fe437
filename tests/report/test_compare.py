"""What changed between two stores: nothing where nothing did, else what moved and why, intervals only where due."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertlab.lab.study import Claim
from bertlab.report import compare
from bertlab.report.changes import LOSS, Change
from bertlab.report.gather import gather_all
from bertlab.report.statistics.summary import welch
from bertlab.store.runs import Store

ROW, BASELINE = "0/0/100", "80/10/10"


@pytest.fixture
def stores(builder: Any, tmp_path: Path) -> tuple[Any, Any]:
    """Builders of an old and a new store."""
    return type(builder)(tmp_path / "old"), type(builder)(tmp_path / "new")


def put(builder: Any, points: Sequence[float], variant: str = BASELINE, first: int = 0, mark: str = "a") -> None:
    """A pre-training and its MNLI for each of the points, by seed; runs have the same ids where `mark` is the same."""
    for seed, value in enumerate(points, first):
        place = f"{mark}{abs(hash_of(variant)) % 256:02x}{seed}"
        builder.pretrain(variant, seed, run_id=f"{place}0")
        builder.cell(variant, "MNLI", value, seed, pretrain_id=f"{place}0", run_id=f"{place}1")


def hash_of(name: str) -> int:
    return hashlib.sha256(name.encode()).digest()[0]


def between(stores: tuple[Any, Any], *studies: str) -> list[compare.Compared]:
    for each in stores:
        each.record()
    return compare.compare(studies, stores[1].root, stores[0].root)


def means(compared: Sequence[compare.Compared]) -> dict[tuple[str, str], Change]:
    return {(each.variant, each.measurement): each for each in compared[0].of("mean")}


def test_a_copy_has_not_changed(builder: Any, fill: Callable[..., None], tmp_path: Path) -> None:
    fill(builder)
    builder.record()
    shutil.copytree(builder.root, tmp_path / "copy")
    (one,) = compare.compare([], tmp_path / "copy", builder.root)
    assert one.same
    text = compare.markdown([one], tmp_path / "copy", builder.root)
    assert "## masking: scale tiny on microworld\n\nNothing has changed: the same runs.\n" in text
    assert len(compare.tidy([one]).splitlines()) == 1


def test_more_seeds_move_a_mean_and_give_its_difference_no_interval(stores: tuple[Any, Any]) -> None:
    """What both have makes up most of both means: their difference is no sample of anything."""
    put(stores[0], [50.0, 52.0, 54.0, 56.0])
    put(stores[1], [50.0, 52.0, 54.0, 56.0, 63.0])
    (one,) = found = between(stores)
    moved = means(found)[BASELINE, "MNLI"]
    assert (moved.old, moved.new, moved.difference, moved.n_old, moved.n_new) == (53.0, 55.0, 2.0, 4, 5)
    assert moved.interval is None
    assert moved.note == "runs: 4 the same, 1 new"
    assert one.summary == "4 of 5 measurements are the same runs."
    runs = {(each.measurement, each.old, each.new): (each.n_new, each.note) for each in one.of("runs")}
    assert runs == {("pre-training", None, "done"): (1, "seed 4"), ("MNLI", None, "done"): (1, "seed 4")}


def test_other_runs_of_the_same_seeds_are_paired(stores: tuple[Any, Any]) -> None:
    put(stores[0], [50.0, 60.0, 40.0, 55.0])
    put(stores[1], [51.0, 62.0, 43.0, 59.0], mark="b")
    moved = means(between(stores))[BASELINE, "MNLI"]
    # Differences 1, 2, 3, 4: mean 2.5, sd 1.2910, t(.975; 3) = 3.18245.
    assert moved.difference == pytest.approx(2.5)
    assert moved.interval is not None
    assert moved.interval.low == pytest.approx(2.5 - 3.18245 * 1.290994 / 2, abs=1e-4)
    assert moved.interval.high == pytest.approx(2.5 + 3.18245 * 1.290994 / 2, abs=1e-4)
    assert moved.note == "runs: 4 new, 4 gone"


def test_other_seeds_are_not_paired(stores: tuple[Any, Any]) -> None:
    old, new = [50.0, 60.0, 40.0, 55.0], [51.0, 62.0, 43.0, 59.0, 70.0]
    put(stores[0], old)
    put(stores[1], new, mark="b", first=1)
    moved = means(between(stores))[BASELINE, "MNLI"]
    assert moved.interval == welch(new, old)
    assert moved.n_new == 5


def test_three_seeds_give_no_interval(stores: tuple[Any, Any]) -> None:
    put(stores[0], [50.0, 60.0, 40.0])
    put(stores[1], [51.0, 62.0, 43.0, 40.0], mark="b")
    assert means(between(stores))[BASELINE, "MNLI"].interval is None


def test_predictions_are_paired_across_stores(stores: tuple[Any, Any]) -> None:
    """The interval is that of two rows of one store with the same predictions."""
    label = np.arange(60) % 3
    for store, mark, chance in ((stores[0], "a", 0.5), (stores[1], "b", 0.8)):
        for seed in range(4):
            right = np.random.default_rng([seed, len(mark), int(10 * chance)]).random(60) < chance
            prediction = np.where(right, label, 2 - label)
            put(store, [100 * float((prediction == label).mean())], first=seed, mark=mark)
            path = store.root / "finetune" / f"{store.cells[-1]['run_id']}--a-label"
            np.savez(path / "predictions.npz", prediction=prediction, label=label)
            science = {"task": {"kind": "classification", "labels": ()}}
            (path / "recipe.json").write_text(json.dumps({"science": science}))
            store.seal(path)
    moved = means(between(stores))[BASELINE, "MNLI"]
    both = type(stores[0])(stores[0].root.parent / "both")
    for kind in ("pretrain", "finetune"):
        for each in stores:
            shutil.copytree(each.root / kind, both.root / kind, dirs_exist_ok=True)
    both.rows = [*stores[0].rows, *({**row, "variant": ROW} for row in stores[1].rows)]
    both.cells = [*stores[0].cells, *({**cell, "variant": ROW} for cell in stores[1].cells)]
    both.record()
    store = Store(both.root)
    effect = gather_all(store)[0].effect(ROW, BASELINE, "MNLI")
    assert effect is not None
    assert effect.examples == 60
    assert moved.interval == effect.interval
    assert moved.difference == pytest.approx(effect.mean)


def test_the_same_science_made_anew_is_told_from_another(stores: tuple[Any, Any]) -> None:
    put(stores[0], [50.0])
    put(stores[1], [51.0])
    (one,) = found = between(stores)
    assert means(found)[BASELINE, "MNLI"].note == "runs: 1 of the same science made anew"
    assert one.of("science") == []
    assert one.summary == "0 of 1 measurements are the same runs."


def test_losses_of_pretrainings_are_means_too(stores: tuple[Any, Any]) -> None:
    for store, mark, losses in ((stores[0], "a", (3.0, 3.2, 3.1, 3.4)), (stores[1], "b", (2.9, 3.0, 3.1, 3.1))):
        for seed, loss in enumerate(losses):
            store.pretrain(BASELINE, seed, loss=loss, run_id=f"{mark}{seed}")
    moved = means(between(stores))[BASELINE, LOSS]
    assert moved.difference == pytest.approx(-0.15)
    # Differences -.1, -.2, 0, -.3: sd .12910, t(.975; 3) = 3.18245.
    assert moved.interval is not None
    assert moved.interval.half == pytest.approx(3.18245 * 0.1290994 / 2, abs=1e-5)


def test_fields_that_differ_have_their_paths_and_defaults(stores: tuple[Any, Any]) -> None:
    for variant in (BASELINE, ROW):
        mark = "1" if variant == ROW else "2"
        stores[0].pretrain(variant, run_id=f"a{mark}")
        stores[1].pretrain(variant, run_id=f"b{mark}", steps=2000)
    path = stores[1].root / "pretrain" / "b1--a-label" / "recipe.json"
    recipe = json.loads(path.read_text())
    recipe["science"]["recipe"]["masking"]["mask_prob"] = 0.4
    path.write_text(json.dumps(recipe))
    stores[1].seal(path.parent)
    (one,) = between(stores)
    found = {(each.variant, each.field, each.old, each.new) for each in one.of("science")}
    assert found == {
        (BASELINE, "schedule.steps", "1000", "2000"),
        (ROW, "schedule.steps", "1000", "2000"),
        (ROW, "masking.mask_prob", "0.15", "0.4"),
    }
    text = compare.markdown([one], stores[1].root, stores[0].root)
    assert "| schedule.steps |  1000 |  2000 | pre-training | all rows |" in text


def test_fields_of_measurements_that_differ(stores: tuple[Any, Any]) -> None:
    for store, mark, settings in ((stores[0], "a", {"peak_lr": 5e-4}), (stores[1], "b", {"epochs": 5.0})):
        put(store, [50.0], mark=mark)
        store.rows[0]["pretrain_id"] = store.cells[0]["pretrain_id"]
        path = store.root / "finetune" / f"{store.cells[0]['run_id']}--a-label" / "recipe.json"
        path.write_text(json.dumps({"science": {"pretrain": mark, "data": "microworld:1", "settings": settings}}))
        store.seal(path.parent)
    (one,) = between(stores)
    found = {(each.measurement, each.field, each.old, each.new) for each in one.of("science")}
    assert ("MNLI", "settings.peak", "0.0005", "5e-05") in found
    assert ("MNLI", "settings.epochs", "3.0", "5.0") in found
    assert not any("pretrain" in each[1] for each in found)


def test_an_id_alone_is_told(stores: tuple[Any, Any]) -> None:
    stores[0].pretrain(BASELINE, run_id="a1")
    stores[1].pretrain(BASELINE, run_id="b1")
    (one,) = between(stores)
    assert [(each.field, each.old, each.new) for each in one.of("science")] == [("id", "a1", "b1")]


def test_rows_columns_and_runs_come_and_go(stores: tuple[Any, Any]) -> None:
    old, new = stores
    for store in stores:
        put(store, [50.0])
    put(old, [40.0], variant="100/0/0")
    put(new, [40.0], variant=ROW)
    new.cell(BASELINE, "NER", 70.0, pretrain_id=new.rows[0]["pretrain_id"])
    old.cell(BASELINE, "MNLI", None, restart=1, pretrain_id=old.rows[0]["pretrain_id"], run_id="cc")
    new.cell(BASELINE, "MNLI", 54.0, restart=1, pretrain_id=new.rows[0]["pretrain_id"], run_id="cc")
    (one,) = between(stores)
    named = {
        (each.kind, each.variant or each.measurement, each.new is not None) for each in one.of("row", "measurement")
    }
    assert named == {("row", "100/0/0", False), ("row", ROW, True), ("measurement", "NER", True)}
    assert [(each.old, each.new, each.n_new) for each in one.of("runs")] == [("pending", "done", 1)]
    moved = means([one])[BASELINE, "MNLI"]
    assert (moved.old, moved.new, moved.note) == (50.0, 52.0, "runs: 1 the same, 1 new")


def test_what_was_finished_and_is_damaged(stores: tuple[Any, Any]) -> None:
    for store in stores:
        put(store, [50.0, 52.0])
    run_id = stores[1].cells[1]["run_id"]
    path = stores[1].root / "finetune" / f"{run_id}--a-label"
    (path / "manifest.json").write_text(json.dumps({"result.json": {"bytes": 1, "sha256": "0"}}))
    (one,) = found = between(stores)
    assert [(each.old, each.new, each.note) for each in one.of("runs")] == [("done", "damaged", "seed 1")]
    assert means(found)[BASELINE, "MNLI"].note == "runs: 1 the same, 1 gone"


def test_verdicts_that_changed(stores: tuple[Any, Any]) -> None:
    claims = [
        dataclasses.asdict(Claim("Random tokens hurt", better=BASELINE, worse=ROW, on="MNLI")),
        dataclasses.asdict(Claim("Random tokens help", better=ROW, worse=BASELINE, on="MNLI")),
    ]
    for store, seeds in ((stores[0], 2), (stores[1], 5)):
        put(store, [60.0, 60.2, 60.1, 60.3, 59.9][:seeds])
        put(store, [50.0, 50.3, 50.0, 50.4, 50.1][:seeds], variant=ROW)
    stores[0].record(claims=claims[:1])
    stores[1].record(claims=claims)
    (one,) = compare.compare([], stores[1].root, stores[0].root)
    found = {each.field: (each.old, each.new, each.n_old, each.n_new) for each in one.of("verdict")}
    assert found == {
        "Random tokens hurt": ("undecided", "reproduced", 2, 5),
        "Random tokens help": (None, "contradicted", None, 5),
    }


def test_numerics_and_versions(stores: tuple[Any, Any]) -> None:
    environment = {
        "numerics": {"torch": "2.14.0", "device": "cpu", "precision": "bf16", "threads": 2},
        "processor": "A Processor",
        "versions": {"bertlab": "0.2.0", "torch": "2.14.0"},
    }
    stores[0].pretrain(BASELINE, run_id="a1")
    stores[1].pretrain(BASELINE, run_id="a1", environment=environment)
    (one,) = between(stores)
    found = {each.field: (each.old, each.new) for each in one.of("numerics")}
    assert found["torch"] == ("2.13.0", "2.14.0")
    assert found["bertlab"] == ("0.1.0", "0.2.0")
    assert found["cores"] == ("2", None)
    assert "processor" not in found


def test_settings_of_a_study_are_matched_by_the_runs_that_they_share(builder: Any, tmp_path: Path) -> None:
    def store(root: Path, marks: str) -> Path:
        for place, mark in enumerate(marks):
            each = type(builder)(root)
            put(each, [50.0 + place], mark=mark)
            each.record(name=f"{place}")
        return root

    old, new = store(tmp_path / "old", "ab"), store(tmp_path / "new", "cb")
    found = compare.compare([], new, old)
    assert len(found) == 2
    assert {tuple(cell.run_id[0] for each in (one.old, one.new) if each for cell in each.cells) for one in found} == {
        ("b", "b"),
        ("a", "c"),
    }


def test_what_one_store_alone_has_is_told(builder: Any, stores: tuple[Any, Any]) -> None:
    put(stores[0], [50.0])
    put(stores[1], [50.0])
    other = type(builder)(stores[1].root, scale="mini")
    put(other, [70.0], mark="d")
    other.record()
    found = between(stores)
    assert [each.summary for each in found] == ["Only in the new store.", "Nothing has changed: the same runs."]
    line = next(csv.DictReader(io.StringIO(compare.tidy(found))))
    assert (line["scale"], line["change"], line["old"], line["new"]) == ("mini", "study", "", "here")


def test_the_table_has_every_change_in_full(stores: tuple[Any, Any], hostile_names: list[str]) -> None:
    for place, name in enumerate(hostile_names[:40]):
        stores[0].pretrain(name, run_id=f"a{place:x}", loss=3.0)
        stores[1].pretrain(name, run_id=f"b{place:x}", loss=3.0 + place / 7)
    found = between(stores)
    lines = list(csv.DictReader(io.StringIO(compare.tidy(found))))
    assert len(lines) == len(found[0].changes)
    assert all(set(line) == set(compare.COLUMNS) and None not in line.values() for line in lines)
    assert not any(value.startswith(("=", "+", "@")) for line in lines for value in line.values() if value)
    moved = [float(line["difference"]) for line in lines if line["change"] == "mean"]
    assert moved == pytest.approx([place / 7 for place in range(1, 40)])
    text = compare.markdown(found, stores[1].root, stores[0].root)
    assert "<script" not in text
