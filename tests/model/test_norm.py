"""Where layers normalise and by what: pre-norm (Xiong et al. 2020), PowerNorm (Shen et al. 2020, Algorithm 2); what
layers share (ALBERT, section 3.1)."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F

from bertlab import recipe
from bertlab.adaptation import Adapters
from bertlab.model import power_norm
from bertlab.model.adapter import add_adapters
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


SHARED = {
    "none": (),
    "attention": ("attention", "attention_norm"),
    "feed-forward": ("mlp", "mlp_norm"),
    "all": ("attention", "attention_norm", "mlp", "mlp_norm"),
}


def described(**fields):
    return recipe.Model(**{"layers": 3, "hidden": 32, "heads": 2, "dropout": 0.0, **fields})


def pretraining(**fields):
    model = PretrainingModel(described(**fields), 50, 16, 0)
    with torch.no_grad():
        for number, each in enumerate(model.parameters()):  # no two alike
            each.add_(torch.randn(each.shape, generator=torch.Generator().manual_seed(number)) * 0.2)
    return model


def token_inputs():
    tokens = torch.randint(0, 50, (3, 12), generator=torch.Generator().manual_seed(0))
    return TensorBatch.of(tokens, segments=tokens % 2)


@pytest.mark.parametrize("sharing", SHARED)
def test_layers_share_what_is_said_and_nothing_else(sharing):
    layers = BertEncoder(described(sharing=sharing), 50, 16).layers
    for part in SHARED["all"]:
        assert (getattr(layers[0], part) is getattr(layers[2], part)) == (part in SHARED[sharing]), part
    assert len({id(layer) for layer in layers}) == 3


@pytest.mark.parametrize("sharing", SHARED)
def test_a_shared_model_computes_what_one_with_equal_layers_does(sharing):
    """And the gradient of a shared parameter is the sum of those of its copies."""
    shared, plain = pretraining(sharing=sharing).encoder, pretraining().encoder
    own = dict(shared.named_parameters(remove_duplicate=False))
    plain.load_state_dict({name: value.detach() for name, value in own.items()})
    outputs = []
    for model in (shared, plain):
        outputs.append(model(token_inputs()))
        outputs[-1].square().sum().backward()
    torch.testing.assert_close(*outputs, rtol=0, atol=0)
    copies = {name: value.grad for name, value in plain.named_parameters()}
    for name, value in shared.named_parameters():
        same = [copies[other] for other, each in own.items() if each is value]
        torch.testing.assert_close(value.grad, sum(same), rtol=1e-4, atol=1e-4, msg=name)


@pytest.mark.parametrize("sharing", ["attention", "feed-forward", "all"])
def test_shared_weights_are_saved_once_and_read_into_every_layer(sharing, tmp_path):
    from safetensors.torch import load_file

    model, other = pretraining(sharing=sharing), PretrainingModel(described(sharing=sharing), 50, 16, 1)
    model.save(tmp_path / "model.safetensors")
    saved = load_file(tmp_path / "model.safetensors")
    assert saved.keys() == dict(model.named_parameters()).keys()
    assert sum(value.numel() for value in saved.values()) == sum(value.numel() for value in model.parameters())
    other.load(tmp_path / "model.safetensors")
    assert torch.equal(other.encoder(token_inputs()), model.encoder(token_inputs()))
    shared = "mlp" if sharing == "feed-forward" else "attention"
    assert getattr(other.encoder.layers[0], shared) is getattr(other.encoder.layers[2], shared)


def test_a_lost_weight_is_noticed_in_a_shared_model_too():
    model = pretraining(sharing="all")
    state = model.state_dict()
    del state["encoder.layers.0.mlp.fc1.weight"]
    with pytest.raises(RuntimeError, match=r"layers\.0\.mlp\.fc1\.weight"):
        model.load_state_dict(state)


def test_the_layers_of_a_shared_model_have_adapters_of_their_own():
    model = BertEncoder(described(sharing="all"), 50, 16)
    before = sum(each.numel() for each in model.parameters())
    add_adapters(model, 4, seed=1)
    each = 2 * 4 * 32 + 4 + 32
    assert sum(each.numel() for each in model.parameters()) == before + 3 * 2 * each
    again = BertEncoder(described(sharing="all"), 50, 16)
    add_adapters(again, 4, seed=2)
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.eval()(token_inputs()), model.eval()(token_inputs()))


def test_sharing_starts_from_the_first_layer_of_the_model_without_it():
    shared, plain = (PretrainingModel(described(sharing=sharing), 50, 16, 3) for sharing in ("all", "none"))
    values = dict(plain.named_parameters())
    assert all(torch.equal(value, values[name]) for name, value in shared.named_parameters())


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_narrow_embeddings_are_normalised_and_projected_and_the_head_goes_the_same_way_back(positions):
    model = pretraining(positions=positions, embedding_size=8)
    table, tokens = model.encoder.embeddings, token_inputs().tokens
    assert {each.weight.shape[1] for each in (table.tokens, table.segments)} == {8}
    x = table.tokens.weight[tokens] + table.segments.weight[tokens % 2]
    if positions == "learned":
        x = x + table.positions.weight[:12]
    x = F.layer_norm(x, (8,), table.norm.weight, table.norm.bias, 1e-12)
    expected = x @ table.projection.weight.T + table.projection.bias
    torch.testing.assert_close(table(tokens, tokens % 2), expected, rtol=0, atol=1e-5)
    head, hidden = model.lm_head, torch.randn(2, 4, 32)
    narrow = head.norm(F.gelu(head.transform(hidden)))
    assert narrow.shape == (2, 4, 8)
    logits = narrow @ table.tokens.weight.T + head.bias
    torch.testing.assert_close(head(hidden, table.tokens.weight), logits, rtol=0, atol=1e-5)


def test_embeddings_as_wide_as_the_model_have_no_projection_and_the_same_weights():
    wide, plain = (PretrainingModel(described(embedding_size=size), 50, 16, 3) for size in (32, 0))
    assert wide.encoder.embeddings.projection is None
    pairs = zip(wide.named_parameters(), plain.named_parameters(), strict=True)
    assert all(one == other and torch.equal(a, b) for (one, a), (other, b) in pairs)


def test_gelu_new_is_the_approximation_of_googles_code():
    x = torch.linspace(-4, 4, 101)
    tanh = 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
    found = {}
    for activation in ("gelu", "gelu_new"):
        model = PretrainingModel(described(activation=activation), 50, 16, 0)
        for linear in (model.encoder.layers[0].mlp.fc1, model.encoder.layers[0].mlp.fc2, model.lm_head.transform):
            torch.nn.init.eye_(linear.weight)
        wide = F.pad(x[:, None], (0, 31))
        found[activation] = model.encoder.layers[0].mlp(wide)[:, 0]
        table = model.encoder.embeddings.tokens.weight
        by_hand = model.lm_head.norm(F.pad((tanh if activation == "gelu_new" else F.gelu(x))[:, None], (0, 31)))
        torch.testing.assert_close(model.lm_head(wide[None], table)[0], by_hand @ table.T, rtol=0, atol=1e-5)
    torch.testing.assert_close(found["gelu_new"], tanh, rtol=0, atol=1e-6)
    assert (found["gelu"] - tanh).abs().max() > 1e-4
