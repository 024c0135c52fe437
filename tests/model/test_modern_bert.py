"""ModernBERT's encoder: what a layer sees, padding, and computing the last layer only where it is read."""

import pytest
import torch

from bertlab import recipe
from bertlab.adaptation import Adapters
from bertlab.model.adapter import add_adapters
from bertlab.model.initial import initialise
from bertlab.model.modern_bert import ModernBertEncoder
from bertlab.model.positions import window_bias
from bertlab.model.streams import TensorBatch
from bertlab.progress import silent
from bertlab.recipe import Inputs, Recipe, Schedule, cost

TOKENS = 12


def encoder(causal=False, **fields):
    usual = {"layers": 3, "hidden": 32, "heads": 2, "window": 4, "dropout": 0.0}
    built = ModernBertEncoder(recipe.ModernBert(**{**usual, **fields}), 50, 16, causal)
    initialise(built, 0.2, seed=1)
    return built.eval()


def inputs():
    return torch.randint(0, 50, (3, TOKENS), generator=torch.Generator().manual_seed(0))


def test_a_window_by_hand():
    """Four tokens that see one on each side; the second sequence has two tokens."""
    x, out = torch.zeros(2, 4, 1), -torch.inf
    first = [[0, 0, out, out], [0, 0, 0, out], [out, 0, 0, 0], [out, out, 0, 0]]
    assert window_bias(None, 1, x)[0, 0].tolist() == first
    padding = torch.tensor([[0, 0, 0, 0], [0, 0, out, out]])[:, None, None]
    found = window_bias(padding, 1, x)
    assert found[0, 0].tolist() == first
    second = [[0, 0, out, out], [0, 0, out, out], [out, 0, 0, out], [out, out, out, 0]]
    assert found[1, 0].tolist() == second, "padding sees itself, and nobody sees padding"


def changed_by_last_token(model):
    """The positions whose vectors change with the last token."""
    tokens = inputs()
    other = tokens.clone()
    other[:, -1] = (other[:, -1] + 1) % 50
    difference = (model(TensorBatch.of(tokens)) - model(TensorBatch.of(other))).abs().amax((0, 2))
    return (difference > 1e-6).nonzero()[:, 0].tolist()


def test_local_layers_see_a_window_and_global_ones_everything():
    """Behind one global layer, the first, everything is seen; two local layers reach two tokens each on either side."""
    model = encoder()
    assert changed_by_last_token(model) == list(range(TOKENS))
    assert [each.attention_norm is None for each in model.layers] == [True, False, False]
    _, *local = model.layers
    model.layers = torch.nn.ModuleList(local)
    model.attention_inputs = lambda *given: ModernBertEncoder.attention_inputs(model, *given)[1:]
    assert changed_by_last_token(model) == [7, 8, 9, 10, 11]


def test_a_causal_encoder_sees_nothing_later():
    assert changed_by_last_token(encoder(causal=True)) == [TOKENS - 1]


@pytest.mark.parametrize("every", [1, 3])
def test_a_row_does_not_depend_on_its_padding(every):
    model = encoder(global_every=every)
    tokens = inputs()
    lengths = torch.tensor([TOKENS, 3, 8])
    padded = model(TensorBatch.of(tokens, lengths))
    assert padded.isfinite().all()
    for row, length in enumerate(lengths.tolist()):
        alone = model(TensorBatch.of(tokens[row : row + 1, :length]))
        torch.testing.assert_close(padded[row, :length], alone[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("layers", [1, 3])
def test_the_last_layer_is_computed_where_it_is_read(layers, causal):
    model = encoder(layers=layers, causal=causal)
    tokens = inputs()
    lengths, positions = torch.tensor([TOKENS, 6, 8]), torch.tensor([[0, 11, 4], [5, 0, 0], [7, 7, 1]])
    for each in (None, lengths):
        whole = model(TensorBatch.of(tokens, each))
        read = model(TensorBatch.of(tokens, each), positions)
        expected = torch.stack([row[place] for row, place in zip(whole, positions, strict=True)])
        torch.testing.assert_close(read, expected, rtol=0, atol=1e-5)
    states = model.hidden_states(TensorBatch.of(tokens, lengths))
    assert len(states) == layers + 1
    torch.testing.assert_close(states[-1], model(TensorBatch.of(tokens, lengths)))


def test_attention_probabilities_and_what_each_sublayer_adds_are_dropped():
    """At a probability of 1, nothing is left of what is dropped."""
    layer, rotation = encoder().layers[1].train(), encoder().local_rotary(TOKENS)
    x = torch.randn(2, TOKENS, 32)
    layer.attention.dropout.p = 1.0
    assert not layer.attention(x, x, None, rotation).any()
    layer.attention.dropout.p = 0.0
    assert layer.attention(x, x, None, rotation).any()
    layer.attention.output_dropout.p = layer.mlp.dropout.p = 1.0
    assert torch.equal(layer(x, None, rotation), x)


def test_new_adapters_change_little():
    model = encoder()
    tokens = inputs()
    before = model(TensorBatch.of(tokens))
    add_adapters(model, Adapters(bottleneck=4).units(32), seed=0)
    after = model(TensorBatch.of(tokens))
    assert 0 < (after - before).abs().max() < 0.1
    assert len(model.norms) == 1 + 5 + 1, "embeddings, two a layer but one in the first, the end"


def test_operations_of_attention_by_hand():
    """Two tokens on each side of a window, cut off at the ends: 3 + 4 + 8 x 5 + 4 + 3 = 54 for 12 tokens."""
    shape = {"layers": 3, "hidden": 32, "heads": 2, "intermediate": 48}
    matrices = 3 * (4 * 32**2 + 3 * 32 * 48)
    found = recipe.ModernBert(**shape, window=4).flops_per_token(12, False)
    assert found == pytest.approx(2 * (matrices + 2 * 32 * (12 + 2 * 54 / 12)))
    causal = recipe.ModernBert(**shape, window=4).flops_per_token(12, True)
    assert causal == pytest.approx(2 * (matrices + 2 * 32 * (6.5 + 2 * (1 + 2 + 10 * 3) / 12)))
    wide = recipe.ModernBert(**shape, window=64).flops_per_token(12, False)
    assert wide == pytest.approx(2 * (matrices + 3 * 2 * 32 * 12))


def test_one_is_pre_trained_and_opened(corpus, machine, tmp_path):
    from bertlab.training.pretraining import pretrain

    made = Recipe(
        inputs=Inputs(length=24),
        model=recipe.ModernBert(layers=4, hidden=16, heads=2, window=6),
        schedule=Schedule(batch_size=8, steps=3, peak_lr=1e-3),
    )
    result = pretrain(made, corpus, tmp_path, machine, (100,), silent)
    assert result["parameters"] == cost.parameters(made.model, corpus.tokenizer.size, 128, made.objective)
    assert 0 < result["heldout"]["masked_lm_loss"] < 10
