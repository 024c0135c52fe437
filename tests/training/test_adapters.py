"""Adapter tuning: what is added and where it stands, what is trained, and that it learns (Houlsby et al. 2019)."""

import dataclasses

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bertlab import recipe
from bertlab.adaptation import Adapters
from bertlab.errors import BadInput
from bertlab.lab import scales
from bertlab.model.adapter import Adapter, add_adapters
from bertlab.model.encoder import BertEncoder
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import BidirectionalLM, MaskedLM, SpanCorruption
from bertlab.progress import silent
from bertlab.tasks import kinds
from bertlab.training import finetuning
from bertlab.training.finetuning import finetune, open_pretrained

SETTINGS = Adapters(batch_size=16, epochs=4, peak_lr=1e-2, length=32, bottleneck=8)
SHORT = dataclasses.replace(SETTINGS, max_steps=4)
SHAPE = recipe.Model(layers=2, hidden=32, heads=2, positions="rotary")


@pytest.fixture
def run(pretrained, machine):
    def ran(data, settings=SETTINGS, *, machine=machine, **others):
        return finetune(pretrained, data, settings, seed=0, finetune_seed=0, machine=machine, progress=silent, **others)

    return ran


def prepared(model, settings=SETTINGS, kind="classification"):
    return settings.adapt(model, kinds.find(kind), ("a", "b"), ("adapters", 0, 0))


def test_an_adapter_is_a_bottleneck_with_a_skip_connection():
    adapter = Adapter(2, 1)
    with torch.no_grad():
        for parameter, values in zip(
            adapter.parameters(), ([[1.0, 2.0]], [3.0], [[4.0], [5.0]], [6.0, 7.0]), strict=True
        ):
            parameter.copy_(torch.tensor(values))
    hidden = F.gelu(torch.tensor(1.0 * 10 + 2.0 * 20 + 3.0))
    expected = torch.tensor([10 + 4 * hidden + 6, 20 + 5 * hidden + 7])
    torch.testing.assert_close(adapter(torch.tensor([10.0, 20.0])), expected)
    adapter.activation = Adapter(2, 1, "relu").activation
    x = torch.tensor([[10.0, 20.0], [-10.0, -20.0]])
    wanted = torch.tensor([[10.0 + 4 * 53 + 6, 20 + 5 * 53 + 7], [-10.0 + 6, -20 + 7]])
    torch.testing.assert_close(adapter(x), wanted)


def test_each_sublayer_has_an_adapter_before_its_residual_addition():
    encoder = BertEncoder(SHAPE, 20, 16).eval()
    add_adapters(encoder, 4, seed=1)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)))
    layer, x = encoder.layers[1], torch.randn(3, 5, 32, generator=torch.Generator().manual_seed(3))
    attention, mlp = layer.attention_output, layer.mlp_output
    assert len({id(part) for each in encoder.layers for part in (each.attention_output, each.mlp_output)}) == 4
    middle = layer.attention_norm(x + attention(layer.attention(x, x, None, None)))
    torch.testing.assert_close(layer(x, None, None), layer.mlp_norm(middle + mlp(layer.mlp(middle))))


def test_t5_has_one_adapter_a_layer_of_both_stacks_behind_its_feed_forward_network():
    setting = dataclasses.replace(SETTINGS, after="feed-forward", activation="relu")
    model = PretrainingModel(recipe.T5(layers=2, hidden=32, heads=2), 20, 16, 0, (SpanCorruption(),))
    encoder = prepared(model, setting, "text-to-text").encoder.eval()
    with torch.no_grad():
        for block in (*encoder.layers, *encoder.decoder_layers):
            assert isinstance(block.attention_output, nn.Identity)
            block.mlp_output.up.weight.zero_()
            block.mlp_output.up.bias.fill_(1.0)  # each adapter adds one
    layer, x = encoder.layers[0], torch.randn(3, 5, 32, generator=torch.Generator().manual_seed(3))
    bias = encoder.relative_bias(5)
    with_adapter = layer(x, bias, None)
    layer.mlp_output = nn.Identity()
    torch.testing.assert_close(with_adapter, layer(x, bias, None) + 1)


def test_adapters_are_as_wide_as_their_block():
    """Each direction of a bitransformer has half of the width."""
    model = PretrainingModel(recipe.BiTransformer(layers=2, hidden=32, heads=4), 20, 16, 0, (BidirectionalLM(),))
    adapted = prepared(model).train()
    adapters = [module for module in adapted.modules() if isinstance(module, Adapter)]
    assert [adapter.down.weight.shape for adapter in adapters] == [(8, 16)] * 2 * 2 * 2
    adapted(TensorBatch.of(torch.arange(5, 15).view(2, 5))).sum().backward()
    assert all(adapter.up.weight.grad.any() for adapter in adapters)


def test_adapters_start_near_the_identity_as_a_normal_cut_at_two_deviations():
    encoder = BertEncoder(recipe.Model(layers=2, hidden=256, heads=4), 20, 16)
    names = [name for name, _ in encoder.named_parameters()]
    add_adapters(encoder, 64, seed=1)
    weights = [value for name, value in encoder.named_parameters() if name not in names and value.dim() == 2]
    biases = [value for name, value in encoder.named_parameters() if name not in names and value.dim() == 1]
    assert len(weights) == len(biases) == 8
    assert all((value == 0).all() for value in biases)
    assert all(value.abs().max() <= 0.02 for value in weights)
    for value in weights:  # a normal of 0.01 cut at two deviations has 0.88 of it
        assert value.std().item() == pytest.approx(0.01 * 0.8796, rel=0.05)
    assert len({value.flatten()[0].item() for value in weights}) == 8, "two adapters start from the same weights"
    x = torch.randn(3, 5, 256)
    assert (encoder.layers[0].mlp_output(x) - x).abs().max() < 0.1


def test_a_layer_without_adapters_has_the_names_and_values_it_had():
    layer = BertEncoder(SHAPE, 20, 16).eval().layers[0]
    assert {name.rpartition(".")[0] for name in layer.state_dict()} == {
        "attention.qkv_proj", "attention.out_proj", "attention_norm", "mlp.fc1", "mlp.fc2", "mlp_norm",
    }  # fmt: skip
    x = torch.randn(3, 5, 32)
    middle = layer.attention_norm(x + layer.attention(x, x, None, None))
    assert torch.equal(layer(x, None, None), layer.mlp_norm(middle + layer.mlp(middle)))


def test_adapters_layernorms_and_head_are_trained_and_counted(run, pairs, pretrained):
    """2md + d + m numbers an adapter and two adapters a layer; two LayerNorms a layer and that of the embeddings."""
    adapters = 2 * 2 * (2 * 8 * 32 + 32 + 8)
    norms = (2 * 2 + 1) * 2 * 32
    head = 2 * (32 + 1)
    assert run(pairs, dataclasses.replace(SHORT, max_steps=1)).trained_parameters == adapters + norms + head
    model = prepared(open_pretrained(pretrained).model)
    trained = {name for name, value in model.named_parameters() if value.requires_grad}
    assert "pooler.dense.weight" not in trained, "the released code leaves the pre-trained pooler as it is"
    assert {"output.weight", "encoder.embeddings.norm.bias", "encoder.layers.1.mlp_norm.weight"} <= trained
    assert {"encoder.embeddings.tokens.weight", "encoder.layers.0.mlp.fc1.bias"}.isdisjoint(trained)


def test_a_pooler_that_was_not_pretrained_is_trained_with_the_head():
    model = prepared(PretrainingModel(SHAPE, 20, 16, 0, (MaskedLM(),)))
    assert all(value.requires_grad for value in model.pooler.parameters())


def test_training_changes_what_is_trained_and_nothing_else(run, pairs, pretrained, monkeypatch):
    kept = []
    monkeypatch.setattr(finetuning, "open_pretrained", lambda *given: kept.append(open_pretrained(*given)) or kept[-1])
    run(pairs, dataclasses.replace(SHORT, dropout=0.5))
    before, encoder = dict(open_pretrained(pretrained).model.encoder.named_parameters()), kept[-1].model.encoder
    norms = {name for name, module in encoder.named_modules() if isinstance(module, nn.LayerNorm)}
    for name, value in encoder.named_parameters():
        if name not in before:
            assert value.abs().max() > 0, name
        else:
            assert torch.equal(value, before[name]) == (name.rpartition(".")[0] not in norms), name
    assert encoder.train().training, "dropout is that of fine-tuning"
    assert {module.p for module in encoder.modules() if isinstance(module, nn.Dropout)} == {0.5}


@pytest.mark.parametrize("kind", ["pairs", "entities", "questions", "choices", "scores"])
def test_every_kind_of_task_repeats_itself_to_the_bit(run, kind, request):
    data = request.getfixturevalue(kind)
    one, two = run(data, SHORT), run(data, SHORT)
    assert one.curve == two.curve
    assert all((one.predictions[name] == two.predictions[name]).all() for name in one.predictions)


def test_tags_are_learnt_through_adapters(run, entities, machine):
    assert run(entities).metrics["f1"] > 90
    half = run(entities, machine=dataclasses.replace(machine, precision="bf16"))
    assert half.metrics["f1"] > 90


def test_an_intermediate_task_is_what_the_second_starts_from(run, entities):
    first, after = run(entities, SHORT), run(entities, SHORT, intermediate_task=entities)
    assert after.curve[0]["loss"] < first.curve[0]["loss"]


def test_a_scale_gives_adapters_ten_times_the_rate_of_fine_tuning():
    for name, rate in (("tiny", 5e-3), ("paper", 5e-4)):
        scale = scales.find(name)
        found = Adapters.at_scale(scale.finetune, scale.features)
        assert found.peak_lr == pytest.approx(rate)
        assert (found.epochs, found.length) == (scale.finetune.epochs, scale.finetune.length)
    assert found.bias_correction is False, "as in the paper's fine-tuning"


def test_a_bottleneck_follows_the_width_that_it_is_given_for():
    sizes = [Adapters(bottleneck=units, base_width=768) for units in (8, 64, 256)]
    assert [[each.units(hidden) for each in sizes] for hidden in (768, 128, 1024, 32)] == [
        [8, 64, 256], [1, 11, 43], [11, 85, 341], [1, 3, 11],
    ]  # fmt: skip
    assert Adapters(bottleneck=64).units(32) == 64
    for wrong in (0, -1, 65_537):
        with pytest.raises(BadInput, match=rf"adapters\.bottleneck is {wrong}: give 1 to 65,536 units"):
            Adapters(bottleneck=wrong)


def test_operations_are_two_passes_of_the_encoder_and_three_of_the_adapters():
    model = recipe.Model(layers=2, hidden=32, heads=2)
    settings = Adapters(bottleneck=8, length=16)
    encoder = model.flops_per_token(16, False)
    adapters = 2 * 2 * (2 * 32 * 8 + 2 * 8 * 32)  # two layers, two adapters, two products of 32 x 8 a token
    assert settings.flops(model, 100, 0, 3) == 3 * 100 * (2 * encoder + 3 * adapters)
    assert settings.flops(model, 0, 10, 3) == 10 * (encoder + adapters)
    one_a_layer = dataclasses.replace(settings, after="feed-forward")
    assert one_a_layer.flops(model, 0, 10, 3) == 10 * (encoder + adapters / 2)
