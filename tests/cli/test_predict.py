"""`bertlab predict`: a kept model answers the rows of files, of standard input and of Python."""

import csv
import gzip
import io
import json
import sys

import numpy as np
import pytest

from bertlab import predictor, synthetic
from bertlab.errors import BadInput
from bertlab.store import predictions
from bertlab.store.runs import Store
from bertlab.training import finetuned

FINETUNE = ("finetune", "--from", "masking-80-10-10-seed0", "--task", "sst2", "--scale", "smoke", "--threads", "1")
ROWS = synthetic.rows("sentiment", "validation", 40)


@pytest.fixture(scope="module")
def run(call, finished):
    assert call(*FINETUNE, "--keep", "--set", "finetune.max_eval_examples=0", "--runs", finished) == 0
    kept = [run for run in Store(finished).runs() if run.holds_task_model]
    return next(run for run in kept if "-sst2-" in run.label)


@pytest.fixture
def predicted(run, call, capsys):
    def predict(*arguments, code=0):
        capsys.readouterr()
        assert call("predict", run.id, *arguments, "--runs", run.root, "--threads", "1") == code
        printed = capsys.readouterr()
        return [json.loads(line) for line in printed.out.splitlines()], printed.err.splitlines()

    return predict


@pytest.fixture
def file(tmp_path):
    def write(text, name="rows.jsonl"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_answers_on_the_evaluation_split_are_those_of_the_run(run, predicted, file):
    rows = synthetic.rows("sentiment", "validation")
    answers, _ = predicted(file(lines(rows)))
    stored = predictions.read(run)["prediction"]
    labels = json.loads((run.path / "task.json").read_text())["labels"]
    assert [answer["label"] for answer in answers] == [labels[index] for index in stored]
    assert [answer["line"] for answer in answers] == [*range(1, len(rows) + 1)]
    assert all(abs(sum(answer["probabilities"].values()) - 1) < 1e-5 for answer in answers)


def test_a_table_a_packed_file_and_standard_input_give_the_same(predicted, file, tmp_path, monkeypatch):
    expected, _ = predicted(file(lines(ROWS)))
    table = io.StringIO()
    writer = csv.DictWriter(table, ["label", "sentence"])
    writer.writeheader()
    writer.writerows(ROWS)
    answers, _ = predicted(file(table.getvalue(), "rows.csv"))
    assert [answer["line"] - 1 for answer in answers] == [answer["line"] for answer in expected]
    assert [{**answer, "line": answer["line"] - 1} for answer in answers] == expected
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(lines(ROWS).encode()))
    assert predicted(packed)[0] == expected
    for text, before in ((lines(ROWS), 0), (table.getvalue(), 1)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode()))))
        answers, _ = predicted("-")
        assert [answer["label"] for answer in answers] == [answer["label"] for answer in expected]
        assert answers[0]["line"] == 1 + before


BAD = '{"sentence": "fine"}\n{"sentence": 5}\n\nnonsense\n{"text": "lacks it"}\n{"sentence": "good"}\n'


def test_a_row_that_cannot_be_read_is_named_by_its_line(predicted, file):
    path = file(BAD)
    answers, errors = predicted(path, code=2)
    assert not answers
    assert errors == [f"bertlab: {path} line 2 column sentence is 5: give a text"]
    answers, errors = predicted(path, "--errors", "skip")
    assert [answer["line"] for answer in answers] == [1, 6]
    assert [error.split(" line ")[1][0] for error in errors[:-1]] == ["2", "4", "5"]
    assert errors[-1].startswith("2 rows in ")
    assert errors[-1].endswith(", 3 rows skipped")


def test_cells_that_do_not_fit_their_header_are_named(predicted, file):
    path = file('sentence,id\nfine,1\n"a\nb",2\nshort\n', "rows.csv")
    answers, errors = predicted(path, "--errors", "skip")
    assert [answer["line"] for answer in answers] == [2, 4]
    assert f"skipped: {path} line 5 has 1 cell, the header 2" in errors[0]


def test_memory_is_that_of_some_rows(run, monkeypatch):
    monkeypatch.setattr(finetuned, "ROWS", 8)
    model = predictor(run.root, run.id, threads=1)
    taken = []
    rows = ((number, row) for number, row in enumerate(ROWS, 1) if not taken.append(number))
    answers = model.outputs(rows)
    next(answers)
    assert len(taken) == 8
    first = [answer for _, answer in answers]
    whole = model(ROWS)[1:]
    assert [answer["label"] for answer in first] == [answer["label"] for answer in whole]
    for one, other in zip(first, whole, strict=True):
        np.testing.assert_allclose([*one["probabilities"].values()], [*other["probabilities"].values()], atol=1e-5)


def test_python_answers_rows_and_names_one_without_the_columns(run, predicted, file):
    model = predictor(run.root, run.id, threads=1)
    assert model.columns == ("sentence",)
    answers, _ = predicted(file(lines(ROWS)))
    assert model(ROWS) == [{name: value for name, value in answer.items() if name != "line"} for answer in answers]
    assert model([]) == []
    with pytest.raises(BadInput, match="row 2 has no column 'sentence', which the task reads"):
        model([{"sentence": "fine"}, {"label": 1}])


def test_a_run_without_a_model_or_its_pre_training_is_refused(run, call, finished, tmp_path, capsys, file):
    path = file(lines(ROWS[:1]))
    other = next(each for each in Store(finished).runs() if each.kind == "finetune" and not each.holds_task_model)
    capsys.readouterr()
    assert call("predict", other.id, path, "--runs", finished) == 2
    assert "keeps no fine-tuned model" in capsys.readouterr().err
    alone = tmp_path / "alone" / "finetune" / run.path.name
    alone.parent.mkdir(parents=True)
    alone.symlink_to(run.path, target_is_directory=True)
    assert call("predict", run.id, path, "--runs", tmp_path / "alone") == 2
    assert "was fine-tuned from run" in capsys.readouterr().err
