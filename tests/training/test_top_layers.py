"""The top layers: trained alone, or from new weights with all others."""

import dataclasses

import pytest
import torch

from bertlab.adaptation import Adapters, FineTuning, TopLayers
from bertlab.errors import BadInput
from bertlab.lab import scales
from bertlab.lab.study import Measurement, Study, Variant
from bertlab.model.heads import PretrainingModel
from bertlab.objectives import MaskedLM
from bertlab.progress import silent
from bertlab.recipe import Model
from bertlab.tasks import kinds
from bertlab.training.finetuning import FinetuningModule, finetune, open_pretrained

SETTINGS = TopLayers(batch_size=16, epochs=4, peak_lr=3e-3, length=32)
NEW = dataclasses.replace(SETTINGS, reinitialised=True)
KEY = ("top-layers", 0, 0)


def prepared(model, setting):
    return setting.adapt(model, kinds.find("classification"), ("a", "b"), KEY)


def test_the_last_layer_the_pooler_and_the_head_are_trained(pretrained):
    model = prepared(open_pretrained(pretrained).model, SETTINGS)
    trained = {
        name.partition(".weight")[0].partition(".bias")[0] for name, v in model.named_parameters() if v.requires_grad
    }
    assert {name for name in trained if not name.startswith("encoder.layers.1.")} == {"pooler.dense", "output"}
    assert any(name.startswith("encoder.layers.1.") for name in trained)
    whole = prepared(open_pretrained(pretrained).model, dataclasses.replace(SETTINGS, layers=9))
    frozen = {name.split(".")[1] for name, value in whole.named_parameters() if not value.requires_grad}
    assert frozen == {"embeddings"}


def test_new_weights_are_those_of_a_new_model_in_deviation_and_others_stay(pretrained):
    before = open_pretrained(pretrained).model
    model = prepared(open_pretrained(pretrained).model, NEW)
    assert all(value.requires_grad for value in model.parameters())
    for name, value in model.encoder.named_parameters():
        same = torch.equal(value, before.encoder.get_parameter(name))
        # biases and gains start as they were: the model has not been trained
        assert same == (not name.startswith("layers.1.") or value.dim() < 2), name
    assert not torch.equal(model.pooler.dense.weight, before.pooler.dense.weight)
    std = 0.02 * (768 / 32) ** 0.5 * 0.88  # truncated at two deviations
    assert model.encoder.layers[1].mlp.fc1.weight.std().item() == pytest.approx(std, rel=0.1)
    again = prepared(open_pretrained(pretrained).model, NEW)
    assert torch.equal(again.encoder.layers[1].mlp.fc1.weight, model.encoder.layers[1].mlp.fc1.weight)


def test_gains_and_biases_start_anew_too(pretrained):
    opened = open_pretrained(pretrained).model
    with torch.no_grad():
        for value in opened.encoder.parameters():
            value.add_(1.0)
    layer = prepared(opened, NEW).encoder.layers[1]
    assert not layer.mlp.fc1.bias.any()
    assert all((norm.weight == 1).all() for norm in layer.modules() if isinstance(norm, torch.nn.LayerNorm))


def test_parameters_that_layers_share_are_those_of_the_last_one():
    model = PretrainingModel(Model(layers=3, hidden=32, heads=2, sharing="all"), 20, 32, 0, (MaskedLM(),))
    adapted = prepared(model, SETTINGS)
    assert all(value.requires_grad for value in adapted.encoder.layers.parameters())
    assert not any(value.requires_grad for value in adapted.encoder.embeddings.parameters())


def test_a_model_has_no_more_layers_than_it_has():
    assert dataclasses.replace(SETTINGS, layers=6).in_model(2) == dataclasses.replace(SETTINGS, layers=2)
    with pytest.raises(BadInput, match=r"top-layers.frozen is true, and the top layers are trained: leave it out"):
        TopLayers(frozen=True)


def test_operations_are_one_pass_through_frozen_layers_and_three_through_trained_ones():
    shape, setting = Model(layers=4, hidden=32, heads=2), dataclasses.replace(SETTINGS, length=16)
    layer = shape.flops_per_token(16, False) / 4
    assert setting.flops(shape, 100, 0, 2) == 2 * 100 * (3 + 3) * layer
    assert dataclasses.replace(setting, layers=9).flops(shape, 100, 0, 2) == 2 * 100 * 12 * layer
    assert dataclasses.replace(setting, reinitialised=True).flops(shape, 100, 0, 2) == 2 * 100 * 12 * layer
    assert setting.flops(shape, 0, 10, 2) == 10 * 4 * layer


@pytest.mark.parametrize("setting", [SETTINGS, NEW], ids=["alone", "new"])
def test_it_is_learnt(pretrained, pairs, machine, setting):
    outcome = finetune(pretrained, pairs, setting, seed=0, finetune_seed=0, machine=machine, progress=silent)
    assert outcome.metrics["accuracy"] > 80


def test_a_variant_has_a_multiple_of_the_learning_rate_of_any_scale():
    study = Study(
        name="rates",
        question="?",
        source="nobody",
        baseline="a",
        variants=[Variant("a", adaptation=FineTuning()), Variant("b", adaptation=Adapters(lr_factor=0.3))],
        measurements=[Measurement("SST-2", task="sst2")],
    )
    for name in ("micro", "paper"):
        scale = scales.find(name)
        setting = study.adaptation(study.variants[1], study.measurements[0], scale, "classification", "sst2")
        module = FinetuningModule(torch.nn.Linear(1, 1), kinds.find("classification"), setting, 100, ("k",))
        assert module.schedule.peak_lr == pytest.approx(0.3 * 10 * scale.finetuning("classification", "sst2").peak_lr)
