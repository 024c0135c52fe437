"""The left-to-right LSTM: its vectors, its counts, its size, and what it goes with; and the BiLSTM tagger over
features."""

import dataclasses

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bertlab.adaptation import GradualUnfreezing
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.model.encoder import BertEncoder
from bertlab.model.heads import PretrainingModel
from bertlab.model.recurrent import BiLSTMTagger, RecurrentEncoder
from bertlab.model.streams import TensorBatch
from bertlab.objectives import CausalLM, MaskedLM
from bertlab.recipe import LSTM, Model, Recipe, Size, cost
from bertlab.tasks import kinds

TOKENS = torch.randint(5, 40, (3, 20), generator=torch.Generator().manual_seed(0))


def batch(tokens=TOKENS, lengths=None):
    return TensorBatch.of(tokens, lengths)


def model(**fields):
    config = LSTM(**{"layers": 2, "hidden": 24, "embedding_size": 10} | fields)
    return config, PretrainingModel(config, 40, 64, 0, (CausalLM(),)).eval()


def test_parameters_are_counted():
    for fields in ({}, {"embedding_size": 0}, {"layers": 1}):
        config, built = model(**fields)
        assert cost.parameters(config, 40, 64, (CausalLM(),)) == sum(value.numel() for value in built.parameters())


def test_flops_are_those_of_the_gates():
    config, _ = model(layers=1)
    assert config.flops_per_token(64, causal=True) == 2 * 4 * 24 * (10 + 24)


def test_a_vector_is_that_of_the_equations():
    _, built = model(layers=1)
    weights = dict(built.encoder.lstms[0].named_parameters())
    x = built.encoder.tokens(TOKENS)
    hidden = cell = torch.zeros(3, 24)
    for position in range(20):
        gates = x[:, position] @ weights["weight_ih_l0"].T + hidden @ weights["weight_hh_l0"].T
        entry, forget, new, exit_gate = (gates + weights["bias_ih_l0"] + weights["bias_hh_l0"]).chunk(4, dim=1)
        cell = forget.sigmoid() * cell + entry.sigmoid() * new.tanh()
        hidden = exit_gate.sigmoid() * cell.tanh()
    torch.testing.assert_close(built.encoder(batch())[:, -1], hidden)


def test_no_token_sees_a_later_one_or_padding():
    _, built = model()
    whole = built.encoder(batch())
    changed = TOKENS.clone()
    changed[:, 12] = 39 - changed[:, 12] % 2
    other = built.encoder(batch(changed, torch.tensor([20, 13, 15])))
    torch.testing.assert_close(other[:, :12], whole[:, :12], rtol=0, atol=0)
    assert not torch.allclose(other[:, 12:], whole[:, 12:])
    positions = torch.tensor([[0, 19], [7, 3], [11, 11]])
    read = built.encoder(batch(), positions)
    assert torch.equal(read, torch.stack([row[places] for row, places in zip(whole, positions, strict=True)]))


def test_levels_and_states_are_the_embeddings_and_each_layer():
    config, built = model()
    states = built.encoder.hidden_states(batch())
    assert [state.shape for state in states] == [(3, 20, 24)] * 3
    assert torch.equal(states[0][..., :10], built.encoder.tokens(TOKENS))
    assert torch.equal(states[-1], built.encoder(batch()))
    levels = {value for level in built.encoder.levels for value in level.parameters()}
    assert levels == {*built.encoder.parameters()}
    setting = GradualUnfreezing(epochs=3)
    adapted = setting.adapt(built, kinds.find("classification"), ("a", "b"), ("k",))
    setting.on_step(adapted, 0, 3)
    assert {name.split(".")[1] for name, value in built.encoder.named_parameters() if value.requires_grad} == {"1"}
    assert config.layers == 2


def test_a_size_at_scale_paper_is_that_of_the_published_row():
    scaled = LSTM(layers=12, hidden=768).scaled(Size(layers=1 / 12, width=8 / 3, embeddings=3 / 8))
    assert (scaled.layers, scaled.hidden, scaled.embedding_width) == (1, 2048, 768)
    with pytest.raises(BadInput, match=r"size.heads has no effect on a model of the kind lstm: leave it out"):
        LSTM().scaled(Size(heads=2))
    with pytest.raises(BadInput, match=r"model.embedding_size is above model.hidden, 24: give that at most"):
        LSTM(hidden=24, embedding_size=25)


def test_an_objective_that_sees_both_sides_is_refused():
    with pytest.raises(BadInput, match="the model lstm reads from left to right: set objective=causal_lm"):
        Recipe(model=LSTM(), objective=(MaskedLM(),))


def test_it_is_not_compiled(monkeypatch):
    monkeypatch.setattr("bertlab.machine.has_compiler", lambda: True)
    transformer = Recipe(objective=(CausalLM(),))
    machine = Machine(compile="yes")
    assert machine.compiles(transformer)
    assert not machine.compiles(dataclasses.replace(transformer, model=LSTM()))


def test_padding_does_not_reach_the_logits():
    model = BiLSTMTagger(6, 8, 2, 3, dropout=0.5, seed=0).eval()
    features = torch.randn(3, 10, 6, generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor([4, 10, 7])
    logits = model(features, lengths)
    assert logits.shape == (3, 10, 3)
    for row, length in enumerate(lengths.tolist()):
        alone = model(features[row : row + 1, :length])
        torch.testing.assert_close(logits[row, :length], alone[0], rtol=0, atol=1e-6)


def test_each_label_sees_both_sides():
    model = BiLSTMTagger(6, 8, 2, 3, dropout=0.0, seed=0)
    features = torch.randn(1, 9, 6).requires_grad_()
    model(features, torch.tensor([9]))[0, 4].sum().backward()
    assert torch.all(features.grad[0].abs().sum(1) > 0)


def test_it_is_a_packed_bidirectional_lstm():
    model = BiLSTMTagger(6, 8, 1, 3, dropout=0.0, seed=0).eval()
    features, lengths = torch.randn(3, 10, 6, generator=torch.Generator().manual_seed(0)), torch.tensor([4, 10, 7])
    reference = torch.nn.LSTM(6, 8, batch_first=True, bidirectional=True)
    names = [name for name, _ in model.recurrent.rightward[0].named_parameters()]
    weights = {name: model.recurrent.rightward[0].get_parameter(name) for name in names}
    weights |= {f"{name}_reverse": model.recurrent.leftward[0].get_parameter(name) for name in names}
    reference.load_state_dict(weights)
    packed = pack_padded_sequence(features, lengths, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(reference(packed)[0], batch_first=True)
    logits = model(features, lengths)
    for row, length in enumerate(lengths.tolist()):
        torch.testing.assert_close(logits[row, :length], model.output(expected[row, :length]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("layers", [1, 2])
def test_weights_come_from_the_seed_and_the_layers_asked_for_are_there(layers):
    one, same, other = (BiLSTMTagger(6, 8, layers, 3, 0.1, seed) for seed in (1, 1, 2))
    assert len(one.recurrent.rightward) == layers
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.output.weight, other.output.weight)
    assert one.recurrent.rightward[0].weight_hh_l0.std() > 0.1
    assert torch.all(one.recurrent.rightward[0].bias_ih_l0 == 0)


def test_a_weighted_sum_of_levels_starts_as_their_mean_and_its_weights_are_learned():
    model = BiLSTMTagger(12, 8, 1, 3, 0.0, 0, summed=2)
    levels = torch.randn(2, 5, 2, 6, generator=torch.Generator().manual_seed(0))
    alone = BiLSTMTagger(6, 8, 1, 3, 0.0, 0)
    logits = model(levels.flatten(2))
    torch.testing.assert_close(logits, alone(levels.mean(2)), rtol=0, atol=1e-6)
    logits.square().sum().backward()
    assert torch.all(model.mix.shares.grad != 0)
    assert model.mix.factor.grad != 0
    with torch.no_grad():
        model.mix.shares.copy_(torch.tensor([30.0, 0.0]))
        model.mix.factor.fill_(0.5)
    torch.testing.assert_close(model(levels.flatten(2)), alone(levels[:, :, 0] / 2), rtol=0, atol=1e-6)


def test_what_each_lstm_and_the_output_layer_read_is_dropped():
    """At a probability of 1, an LSTM reads nothing of the features, and the output layer nothing of the LSTM."""
    model = BiLSTMTagger(6, 8, 1, 3, dropout=0.0, seed=0).train()
    with torch.no_grad():
        model.output.bias.copy_(torch.tensor([1.0, 2.0, 3.0]))
        model.recurrent.rightward[0].bias_ih_l0.fill_(0.5)
    one, other = torch.randn(2, 1, 5, 6, generator=torch.Generator().manual_seed(0))
    assert not torch.equal(model(one), model(other))
    model.recurrent.dropout.p = 1.0
    assert torch.equal(model(one), model(other))
    assert not torch.equal(model(one), model.output.bias.expand(1, 5, 3))
    model.dropout.p = 1.0
    assert torch.equal(model(one), model.output.bias.expand(1, 5, 3))


def test_under_a_bilstm_an_encoder_is_asked_as_before():
    encoder = BertEncoder(Model(layers=1, hidden=16, heads=2, dropout=0.0), 20, 8)
    model = RecurrentEncoder(encoder, seed=0).eval()
    tokens = torch.arange(16).view(2, 8)
    lengths, rows = torch.tensor([8, 5]), torch.tensor([[0, 3], [4, 1]])
    every = model(TensorBatch.of(tokens, lengths))
    assert every.shape == (2, 8, model.hidden_size) == (2, 8, 16)
    some = model(TensorBatch.of(tokens, lengths), rows)
    assert torch.equal(some, torch.stack([every[0, rows[0]], every[1, rows[1]]]))
    alone = model(TensorBatch.of(tokens[1:, :5]))
    torch.testing.assert_close(alone[0], every[1, :5], rtol=0, atol=1e-5)
