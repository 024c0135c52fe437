"""A user's tasks of every kind, from the file to the result at smoke scale; and their wrong examples."""

import json

import numpy as np
import pytest

from bertlab import synthetic as microworld
from bertlab.store.runs import Store

STUDY = """
from bertlab.lab.study import Measurement, Study, Task, Variant

study = Study(
    name="own", question="?", source="me", baseline="a", variants=[Variant("a")],
    measurements=[
        Measurement("spans", task=Task(kind="span", path="spans", text=("question", "context"), label="answers"),
                    metric="f1"),
        Measurement("choices", task=Task(kind="multiple-choice", path="choices", text=("start", "endings"))),
        Measurement("numbers", task=Task(kind="regression", path="numbers", text=("sentence1", "sentence2")),
                    metric="pearson"),
        Measurement("clusters", task=Task(kind="coreference-resolution", path="clusters", text=("sentences",),
                    label="clusters"), metric="f1"),
    ],
)
"""


def rows(split):
    """Some examples of the synthetic tasks for each folder; endings as a list, as in many data sets."""
    completion = [
        {"start": row["startphrase"], "endings": [row[f"ending{number}"] for number in range(4)], "label": row["label"]}
        for row in microworld.rows("completion", split)[:70]
    ]
    return {
        "spans": microworld.rows("questions-unanswerable", split)[:70],
        "choices": completion,
        "numbers": microworld.rows("similarity", split)[:70],
        "clusters": microworld.rows("coreference-resolution", split)[:70],
    }


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for split in ("train", "validation"):
        for name, found in rows(split).items():
            (tmp_path / name).mkdir(exist_ok=True)
            text = "".join(json.dumps(row) + "\n" for row in found)
            (tmp_path / name / f"{split}.jsonl").write_text(text)
    (tmp_path / "own.py").write_text(STUDY)
    return tmp_path


def ablate(call, runs, *more):
    return call("ablate", "own.py", "--scale", "smoke", "--threads", "1", "--precision", "fp32", "--runs", runs, *more)


def test_every_kind_is_measured_and_its_predictions_kept(call, folder):
    assert ablate(call, folder / "runs") == 0
    runs = {run.result().task: run for run in Store(folder / "runs").runs() if run.kind == "finetune"}
    metrics = {task: set(run.result().metrics) for task, run in runs.items()}
    assert metrics.pop("clusters") == {"f1", "muc", "b_cubed", "ceaf_e"}
    assert metrics == {"spans": {"exact", "f1"}, "choices": {"accuracy"}, "numbers": {"pearson", "spearman"}}
    for task, run in runs.items():
        result = run.result()
        assert set(result.majority) == set(result.metrics)
        assert (result.rows.train, result.rows.evaluation) == (70, 70)
        assert (result.threshold is not None) is (task == "spans")
        with np.load(run.path / "predictions.npz", allow_pickle=False) as kept:
            assert {len(values) for values in kept.values()} == {70}
            assert ("label" in kept.files) is (task in ("choices", "numbers"))
    assert call("report", "--runs", folder / "runs", "--out", folder / "reports") == 0
    page = (folder / "reports" / "own.md").read_text()
    assert all(task in page for task in runs)


@pytest.mark.parametrize(
    ("task", "changes", "says"),
    [
        ("spans", {"answers": None}, "column answers row 3 is None"),
        ("spans", {"answers": {"text": ["Nobody"], "answer_start": [0]}}, "row 3: answer 'Nobody' does not start at 0"),
        ("spans", {"context": 5}, "column context row 3 is 5"),
        ("choices", {"endings": ["one", "two", "three"]}, "column endings row 3 has 3 endings, the first row 4"),
        ("choices", {"label": 4}, "column label row 3: give one of 0, 1, 2, 3"),
        ("numbers", {"label": "much"}, "column label row 3 is 'much', a text: give a finite number"),
    ],
)
def test_a_wrong_row_is_named_before_anything_is_trained(call, folder, capsys, task, changes, says):
    found = rows("validation")[task]
    found[2] = found[2] | changes
    (folder / task / "validation.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))
    for more in ((), ("--dry-run",)):
        assert ablate(call, folder / "runs", *more) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert f"{task}/validation.jsonl" in line
        assert says in line
    assert not (folder / "runs").exists()
