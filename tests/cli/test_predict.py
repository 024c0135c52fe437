"""`bertlab predict`: a kept model answers the rows of files, of standard input and of Python; `bertlab generate`."""

import csv
import gzip
import io
import json
import shutil
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from bertlab import open_run, predictor, synthetic
from bertlab.cli import generate
from bertlab.errors import BadInput
from bertlab.store import predictions
from bertlab.store.runs import Store
from bertlab.training import finetuned

FINETUNE = ("finetune", "--from", "masking-80-10-10-seed0", "--task", "sst2", "--scale", "smoke", "--threads", "1")
ROWS = synthetic.rows("sentiment", "validation", 40)


@pytest.fixture(scope="module")
def run(call, finished):
    assert call(*FINETUNE, "--keep", "--set", "finetune.max_eval_examples=0", "--runs", finished) == 0
    return next(run for run in Store(finished).runs() if run.holds_task_model and "-sst2-" in run.label)


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


def test_quotes_of_a_tsv_are_text(predicted, file):
    path = file('sentence\tid\n"fine\t1\na "good" one\t2\n', "rows.tsv")
    answers, _ = predicted(path)
    expected, _ = predicted(file(lines([{"sentence": '"fine'}, {"sentence": 'a "good" one'}])))
    assert [{**answer, "line": answer["line"] - 1} for answer in answers] == expected


@pytest.mark.parametrize(
    ("name", "header", "problem"),
    [
        ("rows.csv", "sentence,id,sentence", "it has 'sentence' twice"),
        ("rows.tsv", "id\tid", "it has 'id' twice"),
        ("rows.csv", '"sentence"s,id', "',' expected after '\"'"),
    ],
)
def test_a_header_that_cannot_be_read_is_one_line(predicted, file, name, header, problem):
    path = file(f"{header}\nfine,1,2\n", name)
    _, errors = predicted(path, "--errors", "skip", code=2)
    assert errors == [f"bertlab: {path} has no header that names each column once ({problem}): correct its first line"]


@pytest.mark.parametrize("text", [b"sentence\nfine\n\xff\n", b"sent\xff,id\nfine,1\n"], ids=["row", "header"])
def test_bytes_of_no_text_are_one_line(predicted, tmp_path, monkeypatch, text):
    path = tmp_path / "rows.csv"
    path.write_bytes(text)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text))))
    for source, called in ((path, path), ("-", "standard input")):
        _, errors = predicted(source, code=2)
        assert errors == [f"bertlab: {called} is not UTF-8 (invalid start byte): save it as UTF-8"]


def test_a_list_on_standard_input_is_no_header(predicted, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b'[{"sentence": "fine"}]\n'))))
    _, errors = predicted("-", code=2)
    assert errors == ["bertlab: standard input line 1 is not a JSON object: give one object per line"]


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
    with pytest.raises(BadInput, match="row 1 is 'sentence': give rows that map columns to values"):
        model({"sentence": "fine"})


def test_a_run_without_a_model_or_its_pre_training_is_refused(run, call, finished, tmp_path, capsys, file):
    path = file(lines(ROWS[:1]))
    others = Store(finished).runs()
    measured = next(other for other in others if other.kind == "finetune" and not other.holds_task_model)
    trained = next(other for other in others if other.holds_model)
    capsys.readouterr()
    for command in (["predict", measured.id, path], ["predict", trained.id, path], ["generate", measured.id, "a"]):
        assert call(*command, "--runs", finished) == 2
        assert "keeps no fine-tuned model: `bertlab finetune --keep` makes one of a pre-training" in (
            capsys.readouterr().err
        )
    alone = tmp_path / "alone" / "finetune" / run.path.name
    alone.parent.mkdir(parents=True)
    alone.symlink_to(run.path, target_is_directory=True)
    assert call("predict", run.id, path, "--runs", tmp_path / "alone") == 2
    assert "was fine-tuned from run" in capsys.readouterr().err


def test_the_machine_that_is_asked_for_is_used(run, predicted, file, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    _, errors = predicted(file(lines(ROWS)), "--gpus", "1", code=2)
    assert errors == ["bertlab: --gpus is 1: torch finds 0 on this machine, so leave out --gpus"]
    torch.set_num_threads(2)
    predictor(run.root, run.id, threads=1)
    assert torch.get_num_threads() == 1


def other_file(path, changed):
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | changed))


def other_tensors(path, change):
    tensors = load_file(path)
    name = next(name for name in tensors if name.endswith("weight"))
    change(tensors, name)
    save_file(tensors, path)


TRAINED_ELSEWHERE = "give the store in which it was trained, or train it again"
CHANGED = {
    "weights": (
        lambda path: other_file(path / "task.json", {"weights": "a" * 64}),
        f"with another file of its weights: {TRAINED_ELSEWHERE}",
    ),
    "tokenizer": (
        lambda path: other_file(path / "task.json", {"tokenizer": "a" * 64}),
        f"with another file of its tokenizer: {TRAINED_ELSEWHERE}",
    ),
    "a tensor more": (
        lambda path: other_tensors(path / "task.safetensors", lambda tensors, name: tensors.update(new=torch.zeros(1))),
        "was fine-tuned by another version of bertlab: train it again",
    ),
    "another shape": (
        lambda path: other_tensors(
            path / "task.safetensors", lambda tensors, name: tensors.update({name: torch.zeros(1, 1)})
        ),
        "was fine-tuned by another version of bertlab: train it again",
    ),
}
"""Changes of a run that keeps a model, and what `predict` says of them."""


@pytest.mark.parametrize(("change", "problem"), CHANGED.values(), ids=CHANGED)
def test_a_model_that_does_not_fit_its_pre_training_is_refused(run, tmp_path, change, problem):
    store = Store(shutil.copytree(run.root, tmp_path / "runs"))
    work = store.root / run.kind / f".{run.id}.work"
    (store.root / run.kind / run.path.name).rename(work)
    change(work)
    store.finish(run.kind, run.id, run.label)
    with pytest.raises(BadInput, match=problem) as raised:
        predictor(store.root, run.id, threads=1)
    assert str(raised.value).startswith(f"run {run.id} ")


T5 = ("model=t5", "objective=span_corruption", "tokenizer.sentinels=16", "inputs.format=chunks", "schedule.steps=20")
TUNED = ("finetune.max_steps=60", "finetune.peak_lr=1e-2", "finetune.epochs=50", "finetune.max_eval_examples=8")
SOURCES = [" ".join(row["source"].split()[:3]) for row in synthetic.rows("translation-hills", "validation", 6)]


def fields(settings):
    return [word for setting in settings for word in ("--set", setting)]


@pytest.fixture(scope="module")
def translator(call, tmp_path_factory):
    """A store with a T5 of a few steps, `t5`, and a translator that is made of it; the translator."""
    runs = tmp_path_factory.mktemp("t5")
    where = ("--scale", "smoke", "--threads", "1", "--runs", runs)
    assert call("pretrain", "--name", "t5", *fields(T5), *where) == 0
    task = ("--from", "t5", "--task", "wmt_en_ro-text", "--keep")
    assert call("finetune", *task, *fields(TUNED), *where) == 0
    return next(run for run in Store(runs).runs() if run.holds_task_model)


@pytest.fixture
def generated(translator, call, capsys):
    def generate(model, *arguments):
        capsys.readouterr()
        assert call("generate", model, *arguments, "--json", "--runs", translator.root) == 0
        return json.loads(capsys.readouterr().out)

    return generate


def test_a_line_of_standard_input_ends_at_its_end_alone(monkeypatch):
    text = "\ufeffthe old\u2028fox\r\n \nsat\x0cdown"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert [*generate._lines()] == ["the old\u2028fox", "sat\x0cdown"]


@pytest.mark.filterwarnings("ignore:.*max_new_tokens")
def test_a_translator_writes_the_texts_of_predict_and_of_transformers(
    translator, generated, call, capsys, tmp_path, monkeypatch
):
    from transformers import AutoTokenizer, T5ForConditionalGeneration

    inputs = [f"translate to hills: {source}" for source in SOURCES]
    written = generated(translator.id, *inputs)
    answers = predictor(translator.root, translator.id)([{"source": text} for text in SOURCES])
    assert [(one["text"], one["finished"]) for one in written] == [(it["text"], it["finished"]) for it in answers]
    assert len({one["text"] for one in written}) > 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n \n".join(inputs).encode())))
    assert generated(translator.id) == written

    beams = generated(translator.id, *inputs, "--beam", "4")
    assert beams != written
    assert call("export", translator.id, tmp_path / "out", "--runs", translator.root) == 0
    exported = generated(tmp_path / "out", *inputs, "--max-length", "32")
    assert [one["text"] for one in exported] == [one["text"] for one in written]  # no [CLS] in front of a text here too
    model, tokenizer = (part.from_pretrained(tmp_path / "out") for part in (T5ForConditionalGeneration, AutoTokenizer))
    for one, text in zip(written, inputs, strict=True):
        ids = tokenizer(text, return_tensors="pt").input_ids
        theirs = model.generate(ids, max_new_tokens=32, do_sample=False)[:, 1:]
        assert one["text"] == tokenizer.decode(theirs[0], skip_special_tokens=True)
        with torch.inference_mode():
            loss = model(input_ids=ids, labels=theirs).loss.item()
        assert one["tokens"] == theirs.shape[1]
        assert one["log_likelihood"] == pytest.approx(-loss * one["tokens"], rel=1e-4)


def test_a_bert_with_a_decoder_reads_and_begins_as_in_fine_tuning(call, capsys, tmp_path):
    options = (*fields(("schedule.steps=8", "finetune.max_steps=8", "finetune.max_eval_examples=8")), "--keep")
    study = ("seq2seq-start", "--only", "bert2bert", "--measure", "En-De", "--scale", "smoke", "--threads", "1")
    assert call("ablate", *study, *options, "--runs", tmp_path) == 0
    run = next(run for run in Store(tmp_path).runs() if run.holds_task_model)
    capsys.readouterr()
    inputs = [f"translate to valley: {source}" for source in SOURCES]
    assert call("generate", run.id, *inputs, "--json", "--runs", tmp_path) == 0
    written = json.loads(capsys.readouterr().out)
    answers = predictor(tmp_path, run.id)([{"source": text} for text in SOURCES])
    assert [one["text"] for one in written] == [answer["text"] for answer in answers]


def test_a_pre_trained_model_fills_sentinels(translator, generated, call, capsys, monkeypatch):
    from bertlab.model.decoding import TextModel

    text = "the <extra_id_1> fox sat <extra_id_0>."
    (one,) = generated("t5", text, "--max-length", "5")
    assert one["tokens"] <= 5
    tokenizer = open_run(translator.root, "t5").tokenizer
    (fox, cow), marks = tokenizer.encode(["fox", "cow"]), tokenizer.sentinels
    ids, read = [*cow, marks[1], *fox, *cow, marks[0], *cow, tokenizer.sep], []

    def write(self, batch, start, end, steps, beams):
        read.append(batch.tokens[0].tolist())
        return torch.tensor([ids + [tokenizer.pad] * (steps - len(ids))])

    monkeypatch.setattr(TextModel, "generate", write)
    (one,) = generated("t5", text)
    head, middle, tail = tokenizer.encode(["the", "fox sat", "."])
    assert read[0] == [tokenizer.cls, *head, marks[1], *middle, marks[0], *tail, tokenizer.sep]
    assert one["text"] == "cow <extra_id_1> fox cow <extra_id_0> cow"
    assert one["filled"] == "the fox cow fox sat cow."
    assert (one["tokens"], one["finished"]) == (len(ids), True)
    assert call("generate", "t5", text, "--runs", translator.root) == 0
    printed = f"the fox cow fox sat cow. (log-likelihood {one['log_likelihood']:.2f}, {len(ids)} tokens)\n"
    assert capsys.readouterr().out == printed
    (other,) = generated("t5", "the <extra_id_3> sat.")
    assert other["filled"] == "", "it wrote nothing for this sentinel"


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("a <extra_id_16>", (), "<extra_id_16> is none of the model's 16 sentinels"),
        ("cow " * 200, (), "tokens, and the model reads "),
        ("cow", ("--study", "nothing.py"), "nothing.py"),
    ],
)
def test_what_no_model_reads_is_refused_in_a_line(translator, call, capsys, text, options, says):
    capsys.readouterr()
    assert call("generate", "t5", text, *options, "--runs", translator.root) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_models_that_write_no_texts_are_refused(run, call, capsys):
    for name, says in (
        ("masking-80-10-10-seed0", "BertEncoder has no decoder and writes no texts"),
        (run.id, "was trained on classification, whose answers are no texts: use `bertlab predict`"),
    ):
        capsys.readouterr()
        assert call("generate", name, "a text", "--runs", run.root) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert says in line
