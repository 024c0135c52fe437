"""`bertlab export` of a kept task: a directory that transformers opens, with the answers of `predict`."""

import dataclasses
import json

import pytest
import torch
from huggingface_hub import ModelCard

from bertlab import predictor, synthetic
from bertlab.recipe import Recipe
from bertlab.recipe.identity import load
from bertlab.report import cards
from bertlab.store.run import Run
from bertlab.store.runs import Store

ROWS = 24
LEARNED = ("--set", "model.positions=learned", "--set", "model.dropout=0", "--seed", "3")


@pytest.fixture(scope="module")
def store(call, tmp_path_factory):
    """A BERT, and a task of each kind that `transformers` has a pipeline or a class for."""
    runs = tmp_path_factory.mktemp("kept") / "runs"
    where = ("--scale", "smoke", "--threads", "1", "--runs", runs)
    assert call("pretrain", "--name", "bert", *LEARNED, *where) == 0
    for task, group in (("sst2", "finetune"), ("conll2003", "tagging"), ("squad", "span")):
        more = ("--set", f"{group}.peak_lr=1e-2", "--set", f"{group}.max_steps=60", "--set", f"{group}.dropout=0")
        assert call("finetune", "--from", "bert", "--task", task, "--keep", *more, *where) == 0
    return runs


@pytest.fixture(scope="module")
def exported(store, call, tmp_path_factory):
    def export(task):
        run = next(run for run in Store(store).runs() if run.holds_task_model and f"-{task}-" in run.label)
        folder = tmp_path_factory.mktemp("exported") / task
        assert call("export", run.id, folder, "--runs", store) == 0
        return folder, predictor(store, run.id, threads=1), run

    return export


def test_the_pipeline_labels_texts_as_predict_does(exported):
    from transformers import pipeline

    folder, model, _ = exported("sst2")
    rows = synthetic.rows("sentiment", "validation", ROWS)
    answers = model(rows)
    classify = pipeline("text-classification", model=str(folder), device="cpu")
    theirs = classify([row["sentence"] for row in rows], truncation=True)
    assert [answer["label"] for answer in answers] == [guess["label"] for guess in theirs]
    for answer, guess in zip(answers, theirs, strict=True):
        assert answer["probabilities"][guess["label"]] == pytest.approx(guess["score"], abs=2e-5)


def test_the_pipeline_tags_the_words_as_predict_does(exported):
    from transformers import pipeline

    folder, model, _ = exported("conll2003")
    rows = [row for row in synthetic.rows("entities", "validation", ROWS) if len(row["tokens"]) < 12]
    tag = pipeline("token-classification", model=str(folder), device="cpu", ignore_labels=[])
    compared = 0
    for row, answer in zip(rows, model(rows), strict=True):
        places = [len(" ".join([*row["tokens"][:index], ""])) for index in range(len(row["tokens"]))]
        pieces = {guess["start"]: guess["entity"] for guess in tag(" ".join(row["tokens"]))}
        assert [pieces[place] for place in places] == answer["tags"]
        compared += len(places)
    assert compared > 20


# peft reads a name of a model that transformers is to rename
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
@pytest.mark.parametrize(
    ("task", "group", "head"), [("sst2", "finetune", "Sequence"), ("conll2003", "tagging", "Token")]
)
def test_peft_puts_an_exported_adapter_on_the_exported_pre_training(store, call, tmp_path, task, group, head):
    import transformers
    from peft import PeftModel

    train = (
        "--set",
        f"{group}.peak_lr=1e-2",
        "--set",
        f"{group}.max_steps=60",
        "--set",
        f"{group}.dropout=0",
        "--keep",
    )
    where = ("--scale", "smoke", "--threads", "1", "--runs", store)
    assert call("finetune", "--from", "bert", "--task", task, "--adaptation", "lora", *train, *where) == 0
    runs = [run for run in Store(store).runs() if run.holds_task_model and f"-{task}-" in run.label]
    (run,) = (run for run in runs if run.result().settings.get("kind") == "lora")
    assert call("export", run.id, tmp_path / "adapter", "--adapter", "--runs", store) == 0
    assert call("export", "bert", tmp_path / "base", "--runs", store) == 0
    assert {path.name for path in (tmp_path / "adapter").iterdir()} == {
        "adapter_config.json",
        "adapter_model.safetensors",
        "README.md",
    }
    model = predictor(store, run.id, threads=1)
    labels = model.description.labels
    architecture = getattr(transformers, f"BertFor{head}Classification")
    base = architecture.from_pretrained(tmp_path / "base", num_labels=len(labels))
    theirs = PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "base")
    kind = {"sst2": "sentiment", "conll2003": "entities"}[task]
    for row in [row for row in synthetic.rows(kind, "validation", ROWS) if len(row.get("tokens", "")) < 12]:
        read = {"sentence": row["sentence"]} if task == "sst2" else {"tokens": row["tokens"]}
        text = next(iter(read.values()))
        words = tokenizer(text, is_split_into_words=task != "sst2", return_tensors="pt")
        with torch.no_grad():
            probabilities = theirs(**words).logits[0].softmax(-1)
        (answer,) = model([read])
        if task == "sst2":
            assert probabilities.tolist() == pytest.approx(
                [answer["probabilities"][label] for label in labels], abs=1e-5
            )
            continue
        firsts = [words.word_ids().index(number) for number in range(len(text))]
        assert [labels[number] for number in probabilities[firsts].argmax(-1)] == answer["tags"]
    assert f"num_labels={len(labels)}" in (tmp_path / "adapter" / "README.md").read_text(encoding="utf-8")


def test_what_peft_has_no_adapter_for_is_refused(store, call, tmp_path, capsys):
    run = next(
        run for run in Store(store).runs() if run.holds_task_model and run.result().settings.get("kind") != "lora"
    )
    for name, reason in ((run.id, "peft has a format for LoRA"), ("bert", "is a pre-training: leave it out")):
        capsys.readouterr()
        assert call("export", name, tmp_path / "out", "--adapter", "--runs", store) == 2
        assert reason in capsys.readouterr().err
        assert not (tmp_path / "out").exists()


def test_the_best_span_is_that_of_predict(exported):
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    folder, model, _ = exported("squad")
    theirs = AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    compared = 0
    for row in synthetic.rows("questions", "validation", ROWS):
        question, context = " ".join(row["question"].split()[:3]), row["context"].partition(". ")[0]
        row = {"question": question, "context": context}  # short enough for one window, and not to be cut
        given = tokenizer(row["question"], row["context"], return_tensors="pt", return_offsets_mapping=True)
        places = given.pop("offset_mapping")[0]
        if given["input_ids"].shape[1] > 32:  # several windows
            continue
        with torch.no_grad():
            out = theirs(**given)
        inside = torch.tensor([number == 1 for number in given.sequence_ids(0)])
        scores = out.start_logits[0][:, None] + out.end_logits[0][None]
        scores = scores.masked_fill(~(inside[:, None] & inside[None]), -torch.inf)
        scores = scores.masked_fill(torch.ones_like(scores).tril(-1).bool(), -torch.inf)
        best, second = scores.flatten().topk(2).values
        if best - second < 1e-3:  # rounding decides
            continue
        first, last = divmod(int(scores.argmax()), len(inside))
        answer = model([row])[0]
        assert (answer["start"], answer["end"]) == (int(places[first][0]), int(places[last][1]))
        compared += 1
    assert compared > 5


def test_the_card_has_the_scores_of_the_task(exported):
    folder, _, run = exported("sst2")
    card = ModelCard.load(folder / "README.md")
    assert card.data.pipeline_tag == "text-classification"
    values = {one.metric_type: one.metric_value for one in card.data.eval_results}
    assert values["accuracy"] == pytest.approx(run.result().metrics["accuracy"], abs=1e-4)
    assert "BertForSequenceClassification.from_pretrained" in card.text
    assert f"\nA BertForSequenceClassification, run {run.id} of bertlab" in card.text
    assert json.loads((folder / "config.json").read_text())["id2label"] == {"0": "negative", "1": "positive"}


def test_a_model_of_a_milestone_has_its_scores_which_are_not_those_of_the_end(store, monkeypatch, tmp_path):
    result = Run.result
    runs = Store(store).runs()
    pretraining = next(run for run in runs if run.holds_model)
    run = next(run for run in runs if run.holds_task_model and "-sst2-" in run.label)

    about = {"columns": ("sentence",), "labels": 2, "adapter": False}

    def scores():
        recipe = load(Recipe, pretraining.definition()["recipe"])
        texts = [
            cards.task_model(run, pretraining, "text-classification", "BertForSequenceClassification", "", **about),
            cards.model(pretraining, recipe, Store(store), "BERT"),
        ]
        for name, text in zip(("task", "whole"), texts, strict=True):
            (tmp_path / f"{name}.md").write_text(text)
        data = [ModelCard.load(tmp_path / f"{name}.md").data.eval_results for name in ("task", "whole")]
        return ["sst2" in " ".join(one.task_name for one in of_card) for of_card in data]

    assert scores() == [True, True]
    monkeypatch.setattr(Run, "result", lambda self: dataclasses.replace(result(self), milestone=50))
    assert scores() == [True, False]


def test_a_measurement_without_its_model_is_refused(finished, call, tmp_path, capsys):
    run = next(run for run in Store(finished).runs() if run.kind == "finetune" and not run.holds_task_model)
    capsys.readouterr()
    assert call("export", run.id, tmp_path / "out", "--runs", finished) == 2
    assert "is a measurement that keeps no model" in capsys.readouterr().err
