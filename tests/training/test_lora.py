"""LoRA: what it adds, that it starts from the frozen model, and that merging leaves plain weights (Hu et al. 2022)."""

import dataclasses
import math

import pytest
import torch

from bertlab.adaptation import LoRA
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import MaskedLM
from bertlab.progress import silent
from bertlab.recipe import Model
from bertlab.tasks import kinds
from bertlab.training import finetuning
from bertlab.training.finetuning import finetune, open_pretrained

ALL = ("query", "key", "value", "output", "fc1", "fc2")
SETTINGS = LoRA(batch_size=16, epochs=4, peak_lr=1e-2, length=32, rank=2, alpha=6.0)
TOKENS = torch.arange(5, 17)[None]


def prepared(model, setting=SETTINGS):
    return setting.adapt(model, kinds.find("classification"), ("a", "b"), ("lora", 0, 0))


def logits(model):
    return model.eval()(TensorBatch.of(TOKENS))


def changed(model):
    """The trained matrices of the encoder, with values that are not their first ones."""
    trained = {name: value for name, value in model.encoder.named_parameters() if value.requires_grad}
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in trained.values():
            value.copy_(0.3 * torch.randn(value.shape, generator=generator))
    return trained


@pytest.mark.parametrize("matrices", [("query", "value"), ALL])
def test_at_first_the_encoder_is_the_frozen_one_to_the_bit(pretrained, matrices):
    plain = open_pretrained(pretrained).model.encoder.eval()
    before = plain(TensorBatch.of(TOKENS))
    setting = dataclasses.replace(SETTINGS, matrices=matrices)
    encoder = setting.encoder(open_pretrained(pretrained).model.eval(), ("lora", 0, 0))
    assert torch.equal(encoder(TensorBatch.of(TOKENS)), before)


def test_a_and_b_and_the_head_are_trained_and_counted(pretrained):
    model = prepared(open_pretrained(pretrained).model, dataclasses.replace(SETTINGS, matrices=ALL))
    trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
    assert {name.rpartition(".")[2] for name in trained if name.startswith("encoder.")} == {"up", "down"}
    assert {name for name in trained if not name.startswith("encoder.")} == {"output.weight", "output.bias"}
    attention, mlp = 4 * 2 * (32 + 32), 2 * 2 * (32 + 128)  # rank 2
    of_encoder = sum(value.numel() for name, value in trained.items() if name.startswith("encoder."))
    assert of_encoder == 2 * (attention + mlp)
    starts = [value.detach().flatten()[0].item() for name, value in trained.items() if name.endswith("down")]
    assert len({*starts}) == 12, "each A has a start of its own"


@pytest.mark.parametrize("matrix", ALL)
def test_a_matrix_is_changed_by_the_scaled_product(pretrained, matrix):
    encoder = dataclasses.replace(SETTINGS, matrices=(matrix,)).encoder(open_pretrained(pretrained).model, ("k",))
    attention, mlp = encoder.layers[1].attention, encoder.layers[1].mlp
    linear = {"output": attention.out_proj, "fc1": mlp.fc1, "fc2": mlp.fc2}.get(matrix, attention.qkv_proj)
    before = linear.parametrizations.weight.original.detach().clone()
    change = linear.parametrizations.weight[0]
    torch.nn.init.normal_(change.up)
    difference = (linear.weight - before).detach()
    rows = {"query": slice(0, 32), "key": slice(32, 64), "value": slice(64, 96)}.get(matrix, slice(None))
    torch.testing.assert_close(difference[rows], (6.0 / 2 * change.up @ change.down).detach(), rtol=1e-4, atol=1e-5)
    difference[rows] = 0
    assert not difference.any(), "the other matrices are as they were"


@pytest.mark.parametrize("matrices", [("query", "value"), ALL])
def test_merged_weights_give_the_same_logits_and_plain_names(pretrained, matrices):
    setting = dataclasses.replace(SETTINGS, matrices=matrices)
    model = prepared(open_pretrained(pretrained).model, setting)
    first = logits(model)
    changed(model)
    expected = logits(model)
    assert not torch.allclose(first, expected)
    setting.merge(model)
    assert torch.equal(logits(model), expected)
    plain = open_pretrained(pretrained).model
    plain.encoder.load_state_dict(model.encoder.state_dict())  # the names and shapes of an encoder without changes
    places = torch.tensor([[0, 3]])
    torch.testing.assert_close(
        plain.encoder.eval()(TensorBatch.of(TOKENS), places), model.encoder(TensorBatch.of(TOKENS), places)
    )


def test_parameters_that_layers_share_are_changed_once():
    shape = Model(layers=3, hidden=32, heads=2, sharing="all")
    model = PretrainingModel(shape, 20, 32, 0, (MaskedLM(),))
    encoder = SETTINGS.encoder(model, ("k",))
    assert sum(value.requires_grad for value in encoder.parameters()) == 4


def test_the_change_is_learnt_and_repeats_itself(pretrained, pairs, machine, monkeypatch):
    opened = []
    monkeypatch.setattr(
        finetuning, "open_pretrained", lambda *args: opened.append(open_pretrained(*args)) or opened[-1]
    )

    def run(**fields):
        setting = dataclasses.replace(SETTINGS, **fields)
        return finetune(pretrained, pairs, setting, seed=0, finetune_seed=0, machine=machine, progress=silent)

    outcome = run(matrices=ALL)
    assert outcome.metrics["accuracy"] > 90
    names = {name for name, _ in open_pretrained(pretrained).model.named_parameters()}
    assert {name for name, _ in opened[-1].model.named_parameters()} == names, "the weights are merged"
    short = [run(max_steps=3) for _ in range(2)]
    assert short[0].curve == short[1].curve
    assert all(math.isfinite(point["loss"]) for point in outcome.curve)


def test_matrices_that_are_no_set_or_missing_are_refused(pretrained):
    for matrices in ((), ("query", "query")):
        with pytest.raises(BadInput, match="name one or several, each once"):
            LoRA(matrices=matrices)
    model = open_pretrained(pretrained).model
    for layer in model.encoder.layers:
        layer.mlp = torch.nn.Identity()
    with pytest.raises(BadInput, match="changes fc1, which this encoder lacks"):
        LoRA(matrices=("fc1",)).encoder(model, ("k",))
