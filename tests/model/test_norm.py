"""Where layers normalise and by what: pre-norm (Xiong et al. 2020) and PowerNorm (Shen et al. 2020, Algorithm 2)."""

import dataclasses

import pytest
import torch

from bertlab import recipe
from bertlab.adaptation import Adapters
from bertlab.model import power_norm
from bertlab.model.encoder import BertEncoder
from bertlab.model.heads import PretrainingModel
from bertlab.model.initial import initialise
from bertlab.model.power_norm import DECAY, EPSILON, PowerNorm, running, update_statistics
from bertlab.model.streams import TensorBatch

SHAPE = recipe.Model(layers=2, hidden=32, heads=2, dropout=0.0)
PRE, POWER = dataclasses.replace(SHAPE, norm_position="pre"), dataclasses.replace(SHAPE, norm="power")
BOTH = dataclasses.replace(PRE, norm="power")


def inputs():
    tokens = torch.randint(3, 50, (3, 12), generator=torch.Generator().manual_seed(0))
    return TensorBatch.of(tokens, torch.tensor([12, 5, 8]))


def perturbed(model):
    with torch.no_grad():
        for number, each in enumerate(model.parameters()):
            each.add_(torch.randn(each.shape, generator=torch.Generator().manual_seed(number)) * 0.2)
    return model


def test_pre_norm_is_that_of_the_reference_implementation():
    """Every vector of every layer; the reference numbers positions from 2 on and has one segment."""
    from transformers import RobertaPreLayerNormConfig, RobertaPreLayerNormModel

    theirs = RobertaPreLayerNormModel(
        RobertaPreLayerNormConfig(
            vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128,
            max_position_embeddings=18, type_vocab_size=2, layer_norm_eps=1e-12, pad_token_id=1,
        ),
        add_pooling_layer=False,
    ).eval()  # fmt: skip
    ours = perturbed(BertEncoder(PRE, 50, 16)).eval()
    state = theirs.state_dict()
    for name, value in ours.state_dict().items():
        parts = {
            "embeddings.tokens": "embeddings.word_embeddings",
            "embeddings.segments": "embeddings.token_type_embeddings",
            "embeddings.positions": "embeddings.position_embeddings",
            "embeddings.norm": "embeddings.LayerNorm",
            "layers.": "encoder.layer.",
            "attention.qkv_proj": "attention.self.{}",
            "attention.out_proj": "attention.output.dense",
            "attention_norm": "attention.LayerNorm",
            "mlp.fc1": "intermediate.dense",
            "mlp.fc2": "output.dense",
            "mlp_norm": "intermediate.LayerNorm",
            "final_norm": "LayerNorm",
        }
        for part, other in parts.items():
            name = name.replace(part, other)
        if "{}" in name:
            for which, third in zip(("query", "key", "value"), value.chunk(3), strict=True):
                state[name.format(which)].copy_(third)
        else:
            state[name][2 * ("position_" in name) :].copy_(value)
    tokens, lengths = inputs().streams["inputs"]
    real = torch.arange(12) < lengths[:, None]
    expected = theirs(tokens, real.long(), torch.zeros_like(tokens), output_hidden_states=True)
    found = ours.hidden_states(inputs())
    for one, other in zip(found, [*expected.hidden_states[:2], expected.last_hidden_state], strict=True):
        torch.testing.assert_close(one[real], other[real], rtol=0, atol=1e-5)
    places = torch.tensor([[0, 3], [4, 0], [7, 7]])
    only = ours(inputs(), places)
    torch.testing.assert_close(only, torch.stack([found[-1][row, at] for row, at in enumerate(places)]))


def test_power_norm_is_algorithm_2():
    """Three steps by hand, with padding, scaled by groups of two features as in the released code."""
    torch.manual_seed(0)
    norm = PowerNorm(4, 2).double()
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([1.0, 2.0, 0.5, -1.0]))
        norm.bias.copy_(torch.tensor([0.0, 1.0, 0.0, 2.0]))
    mean, gradient_mean = torch.ones(4).double(), torch.zeros(4).double()
    real = torch.tensor([[True, True, False], [True, False, False]])
    for step in range(3):
        x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
        upward = torch.randn(2, 3, 4, dtype=torch.float64) * real[..., None]  # no gradient comes from padding
        out = norm(x, real)
        pairs = x.detach().view(2, 3, 2, 2)
        scaled = (pairs / (pairs.square().mean(-1, keepdim=True) + EPSILON).sqrt()).view(2, 3, 4)
        normed = scaled / (mean + EPSILON).sqrt()
        torch.testing.assert_close(out, normed * norm.weight + norm.bias)
        norm.weight.grad = None
        (wide,) = torch.autograd.grad(out, x, upward, retain_graph=True)
        (out * upward).sum().backward()
        gradient = upward * norm.weight.detach()
        less = (gradient - gradient_mean * normed * real[..., None]) / (mean + EPSILON).sqrt()
        leaf = x.detach().requires_grad_()
        grouped = leaf.view(2, 3, 2, 2)
        again = (grouped / (grouped.square().mean(-1, keepdim=True) + EPSILON).sqrt()).view(2, 3, 4)
        (expected,) = torch.autograd.grad(again, leaf, less)
        torch.testing.assert_close(wide, expected)
        update_statistics([norm], lambda sums: sums)
        batch_mean = scaled[real].square().mean(0)
        products = (gradient * normed)[real].mean(0)
        kept = gradient_mean * (1 - (1 - DECAY) * normed[real].square().mean(0))
        gradient_mean = kept + (1 - DECAY) * products
        mean = mean + max(1 / (step + 1), 1 - DECAY) * (batch_mean - mean)
        torch.testing.assert_close(norm.quadratic_mean, mean)
        torch.testing.assert_close(norm.gradient_mean, gradient_mean)
    assert gradient_mean.abs().max() > 1e-2
    assert not norm.sums.any()


def test_power_norm_normalises_some_tokens_at_a_time(monkeypatch):
    torch.manual_seed(0)
    norm = PowerNorm(8, 2).double()
    norm.quadratic_mean.uniform_(0.5, 2)
    norm.gradient_mean.uniform_(-1, 1)
    x = torch.randn(3, 5, 8, dtype=torch.float64, requires_grad=True)
    real = torch.arange(5) < torch.tensor([5, 2, 4])[:, None]
    found = []
    for numbers in (power_norm.CACHED, 8 * 4):  # 4 of 15 tokens at a time
        monkeypatch.setattr(power_norm, "CACHED", numbers)
        norm.sums.zero_()
        out = norm(x, real)
        found.append([out, norm.sums.clone(), *torch.autograd.grad(out.square()[real].sum(), [x, *norm.parameters()])])
    torch.testing.assert_close(found[0], found[1])
    assert not found[0][2][~real].any()
    norm.eval()  # statistics that stand still have the plain gradient
    assert torch.autograd.gradcheck(lambda x, *_: norm(x, torch.ones_like(real)), (x, *norm.parameters()))


def test_a_multiple_of_the_loss_has_that_multiple_of_its_gradients():
    """As in a group, whose losses are multiplied by its processes before gradients are averaged."""
    torch.manual_seed(0)
    norm = PowerNorm(8, 2).double()
    norm.gradient_mean.uniform_(-1, 1)
    x = torch.randn(3, 5, 8, dtype=torch.float64, requires_grad=True)
    plain, double = [], []
    for norm.loss_scale, found in ((1.0, plain), (2.0, double)):
        found += torch.autograd.grad(norm.loss_scale * norm(x).square().sum(), [x, *norm.parameters()])
    torch.testing.assert_close(double, [2 * each for each in plain])


@pytest.mark.parametrize("model", [POWER, BOTH])
def test_statistics_are_those_of_the_batch_however_it_is_split_padded_and_read(model):
    tokens, lengths = inputs().streams["inputs"]
    found = []
    for split in (False, True):
        encoder = BertEncoder(model, 50, 16)
        initialise(encoder, 0.2, seed=1)
        encoder.double().train()
        norms = running(encoder)
        for _ in range(3):
            encoder.zero_grad()
            for rows in ([0], [1, 2]) if split else ([0, 1, 2],):
                longest = int(lengths[rows].max()) if split else 12
                part = TensorBatch.of(tokens[rows][:, :longest], lengths[rows])
                out = encoder(part, torch.tensor([[0, 3]] * len(rows)) if split else None)
                out = out if split else out[:, [0, 3]]
                (out * torch.linspace(-1, 1, 64, dtype=torch.float64).view(2, 32)).sum().backward()
            update_statistics(norms, lambda sums: sums)
        values = dict(encoder.named_buffers()) | {name: each.grad for name, each in encoder.named_parameters()}
        found.append({name: value for name, value in values.items() if value is not None})
    assert found[0]["layers.1.mlp_norm.gradient_mean"].abs().max() > 1e-3
    torch.testing.assert_close(found[0], found[1])


def test_shared_statistics_are_saved_once_and_adapters_train_all_norms(tmp_path):
    from safetensors.torch import load_file

    model = dataclasses.replace(BOTH, sharing="all")
    one, other = (perturbed(PretrainingModel(model, 50, 16, seed)) for seed in (0, 1))
    one.train()
    one.encoder(inputs()).sum().backward()
    update_statistics(running(one), lambda sums: sums)
    one.save(tmp_path / "model.safetensors")
    statistics = [name for name in load_file(tmp_path / "model.safetensors") if name.endswith("quadratic_mean")]
    assert len(statistics) == 3
    other.load(tmp_path / "model.safetensors")
    assert torch.equal(other.eval().encoder(inputs()), one.eval().encoder(inputs()))
    Adapters().encoder(one, ("adapters", 0))
    trained = {name for name, each in one.encoder.named_parameters() if each.requires_grad and "_output" not in name}
    parts = ("embeddings.norm", "layers.0.attention_norm", "layers.0.mlp_norm", "final_norm")
    assert trained == {f"{part}.{kind}" for part in parts for kind in ("weight", "bias")}
