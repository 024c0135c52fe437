"""BitFit: the biases and the head are trained and nothing else (Ben Zaken et al. 2022)."""

import dataclasses

import pytest
import torch

from bertlab.adaptation import BitFit
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.objectives import BidirectionalLM, MaskedLM
from bertlab.progress import silent
from bertlab.recipe import BiLSTM, Model, ModernBert
from bertlab.tasks import kinds
from bertlab.training import finetuning
from bertlab.training.finetuning import finetune, open_pretrained

SETTINGS = BitFit(batch_size=16, epochs=4, peak_lr=3e-2, length=32, max_steps=4)


def prepared(model):
    return SETTINGS.adapt(model, kinds.find("classification"), ("a", "b"), ("bitfit", 0, 0))


def test_exactly_the_biases_and_the_head_are_trained(pretrained):
    model = prepared(open_pretrained(pretrained).model)
    trained = {name for name, value in model.named_parameters() if value.requires_grad}
    assert trained == {name for name, _ in model.named_parameters() if name.endswith("bias")} | {"output.weight"}
    assert {"encoder.embeddings.norm.bias", "encoder.layers.1.mlp.fc1.bias", "pooler.dense.bias"} <= trained


def test_a_pooler_that_was_not_pretrained_belongs_to_the_head():
    model = prepared(PretrainingModel(Model(layers=2, hidden=32, heads=2), 20, 16, 0, (MaskedLM(),)))
    assert all(value.requires_grad for value in model.pooler.parameters())


def test_training_changes_all_biases_and_no_matrix(pretrained, pairs, machine, monkeypatch):
    opened = []
    monkeypatch.setattr(
        finetuning, "open_pretrained", lambda *args: opened.append(open_pretrained(*args)) or opened[-1]
    )
    outcome = finetune(pretrained, pairs, SETTINGS, seed=0, finetune_seed=0, machine=machine, progress=silent)
    before = dict(open_pretrained(pretrained).model.encoder.named_parameters())
    for name, value in opened[-1].model.encoder.named_parameters():
        assert torch.equal(value, before[name]) == (not name.endswith("bias")), name
    hidden, layers = 32, 2
    of_layer = (3 + 1 + 4 + 1) * hidden + 2 * hidden  # queries, keys, values; output; two of the MLP; two LayerNorms
    pooler, head = hidden, 2 * (hidden + 1)
    assert outcome.trained_parameters == layers * of_layer + hidden + pooler + head


def test_the_biases_of_lstms_are_biases():
    model = PretrainingModel(BiLSTM(hidden=8, cells=6), 20, 16, 0, (BidirectionalLM(),))
    trained = {name for name, value in prepared(model).encoder.named_parameters() if value.requires_grad}
    of_layers = {
        f"{direction}.layers.{layer}.bias_{side}_l0"
        for direction in ("rightward", "leftward")
        for layer in range(2)
        for side in ("ih", "hh")
    }
    assert trained == of_layers | {"norm.bias"}


def test_an_encoder_without_biases_is_refused():
    model = PretrainingModel(ModernBert(layers=1, hidden=32, heads=2), 20, 16, 0, (MaskedLM(),))
    with pytest.raises(BadInput, match="trains biases and this encoder has none"):
        prepared(model)


def test_operations_are_two_passes():
    shape = Model(layers=2, hidden=32, heads=2)
    setting = dataclasses.replace(SETTINGS, length=16)
    assert setting.flops(shape, 100, 10, 3) == (2 * 3 * 100 + 10) * shape.flops_per_token(16, False)
