"""Factorised embeddings and parameters shared across layers (ALBERT, section 3.1)."""

import pytest
import torch
import torch.nn.functional as F

from bertlab import recipe
from bertlab.model.adapter import add_adapters
from bertlab.model.encoder import BertEncoder
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch

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


def inputs():
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
        outputs.append(model(inputs()))
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
    assert torch.equal(other.encoder(inputs()), model.encoder(inputs()))
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
    assert torch.equal(again.eval()(inputs()), model.eval()(inputs()))


def test_sharing_starts_from_the_first_layer_of_the_model_without_it():
    shared, plain = (PretrainingModel(described(sharing=sharing), 50, 16, 3) for sharing in ("all", "none"))
    values = dict(plain.named_parameters())
    assert all(torch.equal(value, values[name]) for name, value in shared.named_parameters())


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_narrow_embeddings_are_normalised_and_projected_and_the_head_goes_the_same_way_back(positions):
    model = pretraining(positions=positions, embedding_size=8)
    table, tokens = model.encoder.embeddings, inputs().tokens
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
