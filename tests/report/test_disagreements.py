"""The examples on which two variants disagree, from predictions that are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from bertlab import synthetic as microworld
from bertlab.machine import Machine
from bertlab.report import disagreements
from bertlab.report.gather import gather
from bertlab.report.pages import notes
from bertlab.report.predictions import Predictions
from bertlab.store.runs import Store
from bertlab.tasks import catalog
from bertlab.tasks.data import local_texts, read, sampled, synthetic_texts
from bertlab.tasks.locate import LocatedTask, content_of, locate
from bertlab.tasks.task import Task


def predicted(builder: Any, variant: str, seed: int, likelihood: list[float], data: str = "") -> None:
    run_id = builder.pretrain(variant, seed)
    builder.cell(variant, "MNLI", 50.0, seed, pretrain_id=run_id)
    (path,) = builder.root.glob(f"finetune/{builder.cells[-1]['run_id']}--*")
    labels = np.zeros(len(likelihood), np.int32)
    arrays = {"label": labels, "prediction": labels, "log_likelihood": np.log(likelihood)}
    np.savez(path / "predictions.npz", **arrays)
    recipe = (path / "recipe.json").read_text()
    task = f'"science": {{"data": "{data}", "task": {{"kind": "classification", "labels": ["a", "b"]}}}}'
    (path / "recipe.json").write_text(recipe.replace('"science": {}', task))
    builder.seal(path)


def test_the_examples_that_differ_most_are_shown(builder: Any) -> None:
    for seed in (0, 1):
        predicted(builder, "80/10/10", seed, [0.5, 0.5, 0.5, 0.5])
        predicted(builder, "100/0/0", seed, [0.5, 0.45, 0.5, 0.5])
        predicted(builder, "0/0/100", seed, [0.5, 0.1 + 0.1 * seed, 0.50001, 0.75])
    predicted(builder, "0/0/100", 7, [0.01, 0.01, 0.01, 0.01])  # not a seed of the baseline
    study = gather(Store(builder.root), [builder.record()])[0]
    assert "`" not in "".join(notes("disagreements", study)), "pages escape it"
    found = disagreements.table(study)
    assert found.columns == ("on", "variant", "example", "baseline", "variant's", "difference")
    assert found.rows == (
        ("MNLI", "0/0/100", "1", "50.0", "15.0", "-35.0"),
        ("MNLI", "0/0/100", "3", "50.0", "75.0", "+25.0"),
    )


def test_without_predictions_there_are_none(builder: Any) -> None:
    for variant in ("80/10/10", "100/0/0"):
        builder.cell(variant, "MNLI", 50.0, pretrain_id=builder.pretrain(variant))
    assert disagreements.table(gather(Store(builder.root), [builder.record()])[0]).rows == ()


def test_synthetic_examples_have_their_texts(builder: Any) -> None:
    content = f"microworld:{microworld.version('inference')}"
    predicted(builder, "80/10/10", 0, [0.5, 0.5], content)
    predicted(builder, "100/0/0", 0, [0.5, 0.25], content)
    found = disagreements.table(gather(Store(builder.root), [builder.record()])[0])
    row = microworld.rows("inference", "validation")[1]
    answer = ("entailment", "neutral", "contradiction")[row["label"]]
    assert found.columns[-1] == "text"
    assert [line[-1] for line in found.rows] == [f"{row['premise']} / {row['hypothesis']} ({answer})"]


def test_the_texts_are_of_the_examples_that_were_evaluated() -> None:
    machine = Machine()
    every = {name: locate(task, machine=machine, world=True) for name, task in catalog.WORLD.items()}
    for located in (located for located in every.values() if located.parts):
        assert synthetic_texts(located.content, "validation", 20) == (), "a metric is of the examples of one part"
    for name, located in every.items():
        if located.parts:
            continue
        data = sampled(read(located), 20)
        for split, part in (("validation", data.evaluation), ("test", data.test)):
            assert part is not None
            texts = synthetic_texts(located.content, split, 20)
            assert len(texts) == 20, name
            first = [column[7] for column in part.text]
            expected = " / ".join(each if isinstance(each, str) else " ".join(each) for each in first)
            assert texts[7].startswith(expected)
    older = every["inference"].content.replace("@", "@9")
    assert synthetic_texts(older, "validation") == (), "another version has other examples"
    assert synthetic_texts("sha256:1", "validation") == ()


def test_the_texts_of_local_tasks_are_those_that_were_evaluated(tmp_path: Path) -> None:
    folder = tmp_path / "pairs"
    folder.mkdir()
    for split in ("train", "validation"):
        rows = [{"one": f"{split} {number}", "two": "b", "label": ("yes", "no")[number % 2]} for number in range(5)]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = {"text": ("one", "two"), "label": "label", "labels": ("yes", "no"), "evaluation": "validation"}
    task = Task(kind="classification", dataset="pairs", **columns)
    machine = Machine(data=tmp_path)
    located = locate(task, machine=machine, world=False)
    data = sampled(read(located), 3)
    texts = local_texts(task, located.content, "validation", 3, machine)
    expected = [f"{one} / {two}" for one, two in zip(*data.evaluation.text, strict=True)]
    assert [each.rpartition(" (")[0] for each in texts] == expected
    assert {each.rpartition(" (")[2] for each in texts} <= {"yes)", "no)"}
    assert local_texts(task, "sha256:other", "validation", 3, machine) == (), "other examples have these numbers"
    assert local_texts(task, located.content, "validation", 3, Machine(data=folder)) == ()


def test_a_kind_of_a_study_file_has_no_texts(builder: Any, tmp_path: Path) -> None:
    (tmp_path / "mnli").mkdir()
    for split in ("train", "validation"):
        (tmp_path / "mnli" / f"{split}.jsonl").write_text('{"label": 1}\n')
    machine, task = Machine(data=tmp_path), Task(kind="own", dataset="mnli", evaluation="validation")
    located = LocatedTask(task=task, name="mnli", origin="files", folder=tmp_path / "mnli")
    predicted(builder, "80/10/10", 0, [0.5, 0.5], content_of(located, machine))
    (path,) = builder.root.glob("finetune/*/recipe.json")
    recipe = json.loads(path.read_text())
    recipe["science"]["task"] = {"kind": "own", "evaluation": "validation"}
    path.write_text(json.dumps(recipe))
    builder.seal(path.parent)
    store, record = Store(builder.root), builder.record()
    (cell,) = gather(store, [record])[0].cells
    assert Predictions({run.id: run for run in store.runs()}, machine).texts(cell) == ()
