"""The feature-based approach: a tagger over a frozen encoder."""

import dataclasses

import numpy as np
import pytest
import torch

from bertlab.adaptation import Features, FineTuning
from bertlab.adaptation.base import tensors
from bertlab.errors import BadInput
from bertlab.progress import silent
from bertlab.tasks import kinds
from bertlab.training.finetuning import FinetuningModule, encode_training, finetune, open_pretrained, predict

SETTINGS = Features(batch_size=16, epochs=4, peak_lr=1e-2, length=32)
SHORT = dataclasses.replace(SETTINGS, max_steps=4)


@pytest.fixture
def run(pretrained, machine):
    def ran(data, settings=SETTINGS, *, finetune_seed=0):
        return finetune(
            pretrained, data, settings, seed=0, finetune_seed=finetune_seed, machine=machine, progress=silent
        )

    return ran


def test_tags_are_learnt(run, entities):
    found = run(entities)
    assert found.metrics["f1"] > 90
    assert found.predictions["label"].tolist() == np.concatenate(entities.evaluation.labels).tolist()
    assert found.steps == found.curve[-1]["step"]


def test_test_rows_are_judged_by_the_same_training(run, entities):
    alone, tested = run(entities, SHORT), run(dataclasses.replace(entities, test=entities.evaluation), SHORT)
    assert alone.curve == tested.curve
    assert tested.metrics == tested.test.metrics == alone.metrics
    assert tested.majority == tested.test.majority


def test_the_same_bits_each_time_and_others_for_a_finetune_seed(run, entities):
    one, two, other = run(entities, SHORT), run(entities, SHORT), run(entities, SHORT, finetune_seed=1)
    assert one.curve == two.curve
    assert (one.predictions["log_likelihood"] == two.predictions["log_likelihood"]).all()
    assert (one.predictions["log_likelihood"] != other.predictions["log_likelihood"]).any()


def test_activations_are_the_top_layers_at_first_pieces(pretrained, entities, machine):
    opened = open_pretrained(pretrained)
    train = encode_training(entities, opened, Features(length=32))
    row = int(np.argmax(train.counts))
    found = Features().inputs(opened.model, train, machine, silent).build(np.array([row]))["features"]
    assert found.shape == (1, train.counts[row], 2 * 32), "two levels side by side"
    batch = train.batch(np.array([row]))
    with torch.inference_mode():
        states = opened.model.encoder.eval().hidden_states(tensors(batch)["inputs"])
    expected = torch.cat(states[-2:], dim=-1)[0, torch.from_numpy(batch.positions[0]).long()]
    assert torch.allclose(found[0], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("layers", "of_twelve", "of_two"),
    [
        ("embeddings", [0], [0]),
        ("second-to-last", [11], [1]),
        ("last", [12], [2]),
        ("sum-last-four", [9, 10, 11, 12], [1, 2]),
        ("concatenate-last-four", [9, 10, 11, 12], [1, 2]),
        ("sum-all", list(range(1, 13)), [1, 2]),
    ],
)
def test_each_row_of_table_7_reads_its_levels(layers, of_twelve, of_two):
    settings = Features(layers=layers)
    assert list(settings.levels(12)) == of_twelve
    assert list(settings.levels(2)) == of_two


def test_what_is_read_decides_what_is_learnt(run, entities):
    found = {
        layers: run(entities, dataclasses.replace(SHORT, layers=layers)).curve
        for layers in ("embeddings", "last", "sum-all", "concatenate-last-four")
    }
    assert len({str(curve) for curve in found.values()}) == 4


def test_the_tagger_has_the_dropout_of_its_setting(pretrained, entities):
    model = open_pretrained(pretrained).model
    tagger = Features(dropout=0.3).adapt(model, kinds.find("tagging"), entities.labels, ("head",))
    assert [each.p for each in tagger.modules() if isinstance(each, torch.nn.Dropout)] == [0.3] * 2


def test_only_tagging_has_features(run, pairs):
    with pytest.raises(BadInput, match="the feature-based approach tags words"):
        run(pairs)


def test_features_and_scores_are_the_same_where_training_is_in_bf16(pretrained, entities, machine):
    opened, half = open_pretrained(pretrained), dataclasses.replace(machine, precision="bf16")
    assert half.precision_used == "bf16"
    train = encode_training(entities, opened, Features(length=32))
    read = (Features().inputs(opened.model, train, each, silent) for each in (machine, half))
    assert torch.equal(*(each.build(np.arange(len(train)))["features"] for each in read))
    head = torch.nn.Linear(32, 3)

    class Module(FinetuningModule):
        def forward(self, batch):
            return head(opened.model.encoder(batch["inputs"], batch["positions"]))

    module = Module(opened.model, kinds.find("tagging"), FineTuning(), 1, ())
    read = FineTuning().inputs(opened.model, train, machine, silent)
    one, two = (predict(module, train, read, each) for each in (machine, half))
    assert (one == two).all()
