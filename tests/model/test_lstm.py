"""The left-to-right LSTM: its vectors, its counts, its size, and what it goes with."""

import dataclasses

import pytest
import torch

from bertlab.adaptation import GradualUnfreezing
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import CausalLM, MaskedLM
from bertlab.recipe import LSTM, Recipe, Size, cost
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
