"""What a store keeps of a fine-tuned model: the tensors that differ from the pre-trained one, and no others."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from safetensors import safe_open

from bertlab.adaptation import Adapters, BitFit, ELMo, Features, FineTuning, GradualUnfreezing, LoRA
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import MaskedLM
from bertlab.progress import silent
from bertlab.recipe import Model
from bertlab.store.schema import load
from bertlab.tasks import kinds
from bertlab.tasks.data import sampled
from bertlab.tasks.task import Task
from bertlab.training import finetuned as finetuned_models
from bertlab.training.finetuned import DESCRIPTION, Description, Finetuned, save
from bertlab.training.finetuning import changes_of, finetune, open_pretrained, prepare
from random_weights import perturbed

SETTING = {"batch_size": 16, "max_steps": 3, "peak_lr": 1e-2, "length": 32, "max_eval_examples": 20}
DESCRIBED = Description(
    pretrained="a" * 16, weights="c" * 64, tokenizer="b" * 64, task="t", kind="span", text=("q", "c"), label="answers",
    settings={},
)  # fmt: skip
BASE = Model(layers=12, hidden=768, heads=12, positions="learned", max_positions=512)


def started(pretrained, adaptation, data, finetune_seed=0):
    return prepare(open_pretrained(pretrained), adaptation, kinds.find(data.kind), data.labels, 0, finetune_seed)


@pytest.mark.parametrize(
    ("adaptation", "encoder"),
    [
        (FineTuning(**SETTING), "all"),
        (FineTuning(**SETTING, frozen=True), "none"),
        (GradualUnfreezing(**SETTING, epochs=1), "layers.1."),
        (Adapters(**SETTING, bottleneck=4), "trained"),
        (LoRA(**SETTING, rank=2), "trained"),
        (BitFit(**SETTING), "trained"),
    ],
    ids=lambda value: getattr(value, "kind", value),
)
def test_what_training_changed_or_added_is_kept_and_nothing_else(pretrained, pairs, machine, adaptation, encoder):
    outcome = finetune(
        pretrained, pairs, adaptation, seed=0, finetune_seed=1, machine=machine, progress=silent, keep=True
    )
    _, start = started(pretrained, adaptation, pairs, 1)
    of_encoder = {name for name in start.state_dict() if name.startswith("encoder.")}
    trained = {name for name, value in start.named_parameters() if value.requires_grad}
    of_top = {name for name in of_encoder if "layers.1." in name}  # the one layer that one epoch unfreezes
    frozen = {"all": set(), "none": of_encoder, "layers.1.": of_encoder - of_top, "trained": set()}[encoder]
    assert outcome.changes.keys() == trained - frozen


def test_the_model_comes_back_to_the_bit(pretrained, entities, machine):
    adaptation = LoRA(**SETTING, rank=2)
    _, model = started(pretrained, adaptation, entities)
    perturbed(model)
    changes = changes_of(model, *started(pretrained, adaptation, entities))
    _, again = started(pretrained, adaptation, entities)
    again.load_state_dict(changes, strict=False)
    tokens = torch.arange(5, 17)[None]
    inputs = TensorBatch.of(tokens, segments=torch.zeros_like(tokens))
    assert torch.equal(model.eval()(inputs), again.eval()(inputs))


@pytest.mark.parametrize("name", ["pairs", "entities", "questions", "choices", "scores"])
@pytest.mark.parametrize("adaptation", [FineTuning(**SETTING), Adapters(**SETTING, bottleneck=4), LoRA(**SETTING)])
def test_answers_are_the_predictions_that_the_run_stored(request, pretrained, machine, name, adaptation):
    data = request.getfixturevalue(name)
    outcome = finetune(
        pretrained, data, adaptation, seed=0, finetune_seed=0, machine=machine, progress=silent, keep=True
    )
    model = finetuned(pretrained, data, adaptation, outcome, machine)
    evaluated = sampled(data, adaptation.max_eval_examples).evaluation
    task = Task(kind=data.kind, labels=data.labels)
    answers = model.answer(dataclasses.replace(evaluated, labels=model.kind.blank(task, None, evaluated.text)))
    assert len(answers) == len(evaluated) == 20
    assert STORED[data.kind](answers, data.labels) == outcome.predictions["prediction"].tolist()


def finetuned(pretrained, data, adaptation, outcome, machine):
    opened, model = started(pretrained, adaptation, data)
    model.load_state_dict(outcome.changes, strict=False)
    adaptation.merge(model)
    description = dataclasses.replace(DESCRIBED, labels=data.labels, threshold=outcome.threshold)
    parts = {"pretrained": opened, "model": model.eval(), "adaptation": adaptation, "machine": machine}
    return Finetuned(description=description, kind=kinds.find(data.kind), **parts)


def by_label(field):
    return lambda answers, labels: [labels.index(answer[field]) for answer in answers]


STORED = {
    "classification": by_label("label"),
    "multiple-choice": by_label("choice"),
    "regression": lambda answers, labels: [answer["score"] for answer in answers],
    "tagging": lambda answers, labels: [labels.index(tag) for answer in answers for tag in answer["tags"]],
    "span": lambda answers, labels: [[answer["start"] or 0, answer["end"] or 0] for answer in answers],
}
"""The predictions that a run stores, from answers."""


@pytest.mark.parametrize("rows", [3, 16, 1000])
@pytest.mark.parametrize("grouped", [True, False])
def test_tags_in_context_are_those_of_the_whole_file(pretrained, entities, machine, monkeypatch, rows, grouped):
    """However many rows are read at once: the neighbours of a row are those of its document, or of the file."""
    monkeypatch.setattr(finetuned_models, "ROWS", rows)
    adaptation = FineTuning(**SETTING | {"max_eval_examples": 0}, context=True)
    documents = np.arange(len(entities.evaluation)) // 7
    evaluation = dataclasses.replace(entities.evaluation, groups=documents if grouped else None)
    data = dataclasses.replace(entities, evaluation=evaluation)
    outcome = finetune(
        pretrained, data, adaptation, seed=0, finetune_seed=0, machine=machine, progress=silent, keep=True
    )
    model = finetuned(pretrained, data, adaptation, outcome, machine)
    description = dataclasses.replace(model.description, text=("words",), kind="tagging", group="document" * grouped)
    model = dataclasses.replace(model, description=description)
    assert model.columns == ("words", "document")[: 1 + grouped]
    examples = [
        {"words": words, "document": f"d{number}"}
        for words, number in zip(evaluation.text[0], documents.tolist(), strict=True)
    ]
    answers = model(examples)
    assert STORED["tagging"](answers, data.labels) == outcome.predictions["prediction"].tolist()
    blank = model.kind.blank(Task(kind="tagging"), None, evaluation.text)
    whole = model.answer(dataclasses.replace(evaluation, labels=blank))
    for one, other in zip(answers, whole, strict=True):
        np.testing.assert_allclose(one["probabilities"], other["probabilities"], atol=2e-6)
    alone = [model([row])[0]["probabilities"] for row in examples[:20]]
    assert alone != [answer["probabilities"] for answer in answers[:20]]  # neighbours count
    if grouped:
        with pytest.raises(BadInput, match="row 1 has no column 'document', which the task reads"):
            model([{"words": ["a"]}])


@pytest.mark.parametrize("adaptation", [FineTuning(**SETTING), Features(**SETTING, layers="last", lstm_size=4)])
def test_a_sentence_without_words_has_no_tags_beside_others_and_alone(pretrained, entities, machine, adaptation):
    outcome = finetune(
        pretrained, entities, adaptation, seed=0, finetune_seed=0, machine=machine, progress=silent, keep=True
    )
    model = finetuned(pretrained, entities, adaptation, outcome, machine)
    model = dataclasses.replace(model, description=dataclasses.replace(model.description, text=("words",)))
    empty, words = {"words": []}, {"words": ["a", "b", "cd"]}
    without = {"tags": [], "probabilities": []}
    assert model([empty, empty]) == [without, without]
    one, two, three = model([empty, words, empty])
    assert (one, len(two["tags"]), three) == (without, 3, without)


def test_features_keep_their_tagger_alone(pretrained, entities, machine):
    adaptation = Features(**SETTING, layers="last", lstm_size=4)
    outcome = finetune(
        pretrained, entities, adaptation, seed=0, finetune_seed=0, machine=machine, progress=silent, keep=True
    )
    assert outcome.changes.keys() == started(pretrained, adaptation, entities)[1].state_dict().keys()


def test_nothing_is_kept_that_nobody_asked_for(pretrained, pairs, machine):
    outcome = finetune(
        pretrained, pairs, FineTuning(**SETTING), seed=0, finetune_seed=0, machine=machine, progress=silent
    )
    assert not outcome.changes


@pytest.mark.parametrize(
    "adaptation",
    [
        FineTuning(frozen=True),
        FineTuning(frozen=True, bilstm=True),
        Adapters(bottleneck=64),
        Adapters(bottleneck=256),
        Adapters(bottleneck=2048, after="feed-forward"),
        LoRA(),
        LoRA(rank=64, matrices=("query", "value", "fc1", "fc2")),
        BitFit(),
        Features(),
        ELMo(),
    ],
    ids=lambda adaptation: adaptation.kind,
)
def test_what_is_kept_at_base_size_is_at_most_the_share_that_an_adaptation_says(adaptation):
    kind = kinds.find("tagging")
    with torch.device("meta"):
        model = PretrainingModel(BASE, 30_522, 512, 0)
        whole = sum(value.numel() for value in model.state_dict().values())
        prepared = adaptation.adapt(model, kind, ("O", "B-X", "I-X"), ("task", 0, 0))
    trained = sum(value.numel() for value in prepared.parameters() if value.requires_grad)
    assert trained / whole < adaptation.trained_share < 0.5


@pytest.mark.parametrize(("adaptation", "most"), [(Adapters(bottleneck=32), 1.12), (LoRA(rank=8), 1.04)])
def test_ten_tasks_at_base_width_take_little_more_than_one_model(adaptation, most, tmp_path):
    with torch.device("meta"):
        model = PretrainingModel(BASE, 30_522, 512, 0)
        whole = sum(value.nbytes for value in model.state_dict().values())
        prepared = adaptation.adapt(model, kinds.find("classification"), ("no", "yes"), ("task", 0, 0))
    trained = {name: value for name, value in prepared.named_parameters() if value.requires_grad}
    changes = {name: torch.zeros(value.shape) for name, value in trained.items()}
    save(tmp_path, DESCRIBED, changes)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert 1.0 < (whole + 10 * size) / whole < most


def test_a_kept_model_says_what_it_is(tmp_path):
    save(tmp_path, DESCRIBED, {"output.bias": torch.zeros(2)})
    with safe_open(tmp_path / "task.safetensors", "pt") as tensors:
        assert tensors.metadata() == {"pretrained": "a" * 16}
    assert load(Description, json.loads((tmp_path / DESCRIPTION).read_text())) == DESCRIBED


def test_a_pooler_that_no_pre_training_had_is_kept(pretrained, tmp_path, pairs):
    adaptation, kind = BitFit(**SETTING), kinds.find(pairs.kind)

    def start():
        opened = open_pretrained(pretrained)
        opened = dataclasses.replace(opened, model=PretrainingModel(BERT, 21, 32, 0, (MaskedLM(),)))
        return prepare(opened, adaptation, kind, pairs.labels, 0, 0)

    _, model = start()
    assert {"pooler.dense.weight", "output.weight"} <= changes_of(model, *start()).keys()


BERT = Model(layers=1, hidden=32, heads=2, max_positions=32)
