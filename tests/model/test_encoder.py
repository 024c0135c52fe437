"""The encoder: sizes, initial weights, padding, and computing the last layer only where it is read."""

import pytest
import torch
from torch import nn

from bertlab import recipe
from bertlab.model.attention import Attention, gather
from bertlab.model.encoder import BertEncoder
from bertlab.model.heads import PretrainingModel
from bertlab.model.initial import initialise
from bertlab.model.streams import TensorBatch

POSITIONS = ("learned", "rotary")


def small(positions="learned", **fields):
    return recipe.Model(**{"layers": 2, "hidden": 32, "heads": 2, "positions": positions, "dropout": 0.0, **fields})


def inputs(batch=3, tokens=12, vocabulary=50, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shown = torch.randint(0, vocabulary, (batch, tokens), generator=generator)
    return shown, torch.randint(0, 2, (batch, tokens), generator=generator)


def encoder(positions="learned", causal=False, **fields):
    built = BertEncoder(small(positions, **fields), 50, 16, causal)
    initialise(built, 0.2, seed=1)
    return built.eval()


@pytest.mark.parametrize(
    ("layers", "hidden", "heads", "published"), [(12, 768, 12, 110e6), (24, 1024, 16, 340e6)], ids=["Base", "Large"]
)
def test_parameters_are_as_many_as_the_paper_says(layers, hidden, heads, published):
    with torch.device("meta"):
        model = BertEncoder(recipe.Model(layers=layers, hidden=hidden, heads=heads), 30_522, 512)
    assert sum(each.numel() for each in model.parameters()) == pytest.approx(published, rel=0.02)


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_row_does_not_depend_on_its_padding(positions):
    model = encoder(positions)
    tokens, segments = inputs()
    lengths = torch.tensor([12, 5, 8])
    padded = model(TensorBatch.of(tokens, lengths, segments=segments))
    refilled = tokens.clone()
    refilled[1, 5:], refilled[2, 8:] = 7, 3
    assert torch.equal(model(TensorBatch.of(refilled, lengths, segments=segments))[1, :5], padded[1, :5])
    for row, length in enumerate(lengths.tolist()):
        alone = model(TensorBatch.of(tokens[row : row + 1, :length], segments=segments[row : row + 1, :length]))
        torch.testing.assert_close(padded[row, :length], alone[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("positions", POSITIONS)
def test_positions_are_told_apart(positions):
    model = encoder(positions)
    tokens, swapped = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[1, 3, 2, 4]])
    first, second = (model(TensorBatch.of(order))[0, 0] for order in (tokens, swapped))
    assert (first - second).abs().max() > 1e-3


@pytest.mark.parametrize("short", [128, 0], ids=["products", "fused"])
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("subset", [False, True])
def test_a_causal_encoder_sees_nothing_of_later_tokens(positions, padded, subset, short, monkeypatch):
    monkeypatch.setattr("bertlab.model.kernels.attention.SHORT", short)
    model = encoder(positions, causal=True)
    tokens, segments = inputs()
    lengths = torch.tensor([12, 5, 8]) if padded else None
    rows = torch.tensor([[3, 1, 4, 0]] * 3) if subset else None
    before = model(TensorBatch.of(tokens, lengths, segments=segments), rows)
    for place in (4, 11):
        other = tokens.clone()
        other[:, place] = (other[:, place] + 1) % 50
        after = model(TensorBatch.of(other, lengths, segments=segments), rows)
        earlier = rows[0] < place if subset else torch.arange(12) < place
        assert torch.equal(after[:, earlier], before[:, earlier])
        if not earlier.all():
            assert (after[:, ~earlier] - before[:, ~earlier]).abs().amax() > 1e-3


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("padded", [False, True])
def test_reading_rows_only_changes_nothing(positions, padded, causal):
    tokens, segments = inputs()
    lengths = torch.tensor([12, 5, 8]) if padded else None
    rows = torch.tensor([[0, 3, 3, 1], [0, 4, 2, 0], [7, 0, 1, 2]])
    results = []
    for subset in (True, False):
        model = encoder(positions, causal).train()
        out = (
            model(TensorBatch.of(tokens, lengths, segments=segments), rows)
            if subset
            else gather(model(TensorBatch.of(tokens, lengths, segments=segments)), rows)
        )
        (out * torch.linspace(-1, 1, out.numel()).view_as(out)).sum().backward()
        results.append((out, {name: each.grad for name, each in model.named_parameters()}))
    torch.testing.assert_close(results[0][0], results[1][0], rtol=0, atol=1e-6)
    for name, gradient in results[0][1].items():
        torch.testing.assert_close(gradient, results[1][1][name], rtol=1e-4, atol=1e-5, msg=name)


def test_dropout_leaves_a_causal_encoder_causal():
    model = encoder("rotary", causal=True, dropout=0.3).train()
    tokens, segments = inputs()
    outputs = []
    for change in (0, 1):
        torch.manual_seed(7)
        outputs.append(model(TensorBatch.of(torch.cat((tokens[:, :8], tokens[:, 8:] + change), 1), segments=segments)))
    assert torch.equal(outputs[0][:, :8], outputs[1][:, :8])
    assert not torch.equal(outputs[0][:, 8:], outputs[1][:, 8:])


@pytest.mark.parametrize("position", ["post", "pre"])
def test_embeddings_attention_probabilities_and_what_each_sublayer_adds_are_dropped(position):
    """At a probability of 1, nothing is left of what is dropped (BERT appendix A.2)."""
    model = encoder(norm_position=position).train()
    layer, (tokens, segments) = model.layers[0], inputs()
    x = model.embeddings(tokens, segments)
    model.embeddings.dropout.p = layer.attention.dropout.p = 1.0
    assert not model.embeddings(tokens, segments).any()
    assert not layer.attention(x, x, None, None).any(), "its output bias is 0"
    layer.attention.dropout.p = 0.0
    assert layer.attention(x, x, None, None).any()
    layer.attention.output_dropout.p = layer.mlp.dropout.p = 1.0
    left = x if position == "pre" else layer.mlp_norm(layer.attention_norm(x))
    torch.testing.assert_close(layer(x, None, None), left)


def test_hidden_states_are_one_more_than_the_layers_and_end_in_the_output():
    model = encoder()
    tokens, segments = inputs()
    states = model.hidden_states(TensorBatch.of(tokens, torch.tensor([12, 5, 8]), segments=segments))
    assert len(states) == 3
    assert torch.equal(states[0], model.embeddings(tokens, segments))
    assert torch.equal(states[-1], model(TensorBatch.of(tokens, torch.tensor([12, 5, 8]), segments=segments)))


def test_initial_weights_are_a_function_of_seed_and_name():
    torch.manual_seed(1)
    one = PretrainingModel(small(), 50, 16, seed=3)
    torch.rand(100)
    again = PretrainingModel(small(dropout=0.1), 50, 16, seed=3)
    rotary = PretrainingModel(small("rotary"), 50, 16, seed=3)
    other = PretrainingModel(small(), 50, 16, seed=4)
    shared = dict(rotary.named_parameters())
    for (name, value), (_, same), (_, different) in zip(
        one.named_parameters(), again.named_parameters(), other.named_parameters(), strict=True
    ):
        assert torch.equal(value, same), name
        if name in shared:
            assert torch.equal(value, shared[name]), name
        if value.std() > 0:
            assert not torch.equal(value, different), name


def test_initial_weights_are_bert_s():
    model = PretrainingModel(recipe.Model(layers=1, hidden=192, heads=2, initialisation="width"), 500, 16, seed=0)
    for name, module in model.named_modules():
        if isinstance(module, nn.LayerNorm):
            assert torch.all(module.weight == 1), name
            assert torch.all(module.bias == 0), name
        elif isinstance(module, nn.Linear):
            assert torch.all(module.bias == 0), name
            assert module.weight.abs().max() <= 0.0801
    table = model.encoder.embeddings.tokens.weight.detach()  # a normal of 0.04 cut at two deviations has 0.88 of it
    assert table.std().item() == pytest.approx(0.04 * 0.8796, rel=0.02)
    assert table.abs().max() <= 0.0801
    assert abs(table.mean()) < 1e-3


def test_each_weight_and_each_stacked_matrix_may_start_with_a_deviation_of_its_own():
    attention = Attention(256, 4, 0.0)
    initialise(attention, lambda name: (0.1, 0.2, 0.4) if name.startswith("qkv_proj") else 0.05, seed=0)
    parts = [*attention.qkv_proj.weight.chunk(3), attention.out_proj.weight]
    for part, deviation in zip(parts, (0.1, 0.2, 0.4, 0.05), strict=True):
        assert part.std().item() == pytest.approx(deviation * 0.8796, rel=0.02)
        assert part.abs().max() <= 2 * deviation
    same = Attention(256, 4, 0.0)
    initialise(same, lambda name: 0.05, seed=0)
    assert torch.equal(same.out_proj.weight, attention.out_proj.weight), "a weight depends on its own name alone"
