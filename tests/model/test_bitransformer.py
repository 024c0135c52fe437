"""A left-to-right and a right-to-left Transformer side by side."""

import pytest
import torch

from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import BidirectionalLM
from bertlab.recipe import BiTransformer, Model, Recipe, cost

LENGTHS = torch.tensor([12, 5, 9])
OBJECTIVE = (BidirectionalLM(),)
FIELDS = {"layers": 2, "hidden": 16, "heads": 4, "dropout": 0.0}


def model_of(**fields):
    return PretrainingModel(BiTransformer(**FIELDS | fields), 40, 64, 0, OBJECTIVE).double().eval()


def batch_of():
    tokens = torch.randint(5, 40, (3, 12), generator=torch.Generator().manual_seed(0))
    return TensorBatch.of(tokens, LENGTHS)


@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_each_half_is_a_causal_encoder_and_counts_are_its_own(positions, norm_position):
    model = model_of(positions=positions, norm_position=norm_position)
    encoder, batch = model.encoder, batch_of()
    states = encoder.hidden_states(batch)
    x = states[0][..., :8]
    for row, length in enumerate(LENGTHS.tolist()):
        right = encoder.rightward.encode(x[row : row + 1, :length])[0]
        left = encoder.leftward.encode(x[row : row + 1, :length].flip(1))[0].flip(0)
        torch.testing.assert_close(states[-1][row, :length], torch.cat((right, left), -1), rtol=0, atol=1e-10)
    count = sum(value.numel() for value in model.parameters())
    config = BiTransformer(**FIELDS, positions=positions, norm_position=norm_position)
    assert cost.parameters(config, 40, 64, OBJECTIVE) == count
    assert sum(value.numel() for level in encoder.levels for value in level.parameters()) == count - 40


@pytest.mark.parametrize("changed", [0, 3, 8])
def test_a_changed_token_moves_neither_directions_prediction_of_it(changed):
    encoder, tokens = model_of().encoder, batch_of().tokens
    other = tokens.clone()
    other[:, changed] = (tokens[:, changed] - 4) % 35 + 5
    real = torch.arange(12) < LENGTHS[:, None]
    before, after = (encoder.hidden_states(TensorBatch.of(ids, LENGTHS))[-1].chunk(2, -1) for ids in (tokens, other))
    right, left = ((one - two).abs().amax(-1) * real for one, two in zip(before, after, strict=True))
    assert right[:, :changed].max() < 1e-12 if changed else True
    assert left[:, changed + 1 :].max() < 1e-12
    assert (right[real[:, changed], changed] > 1e-6).all()
    assert (left[real[:, changed], changed] > 1e-6).all()


def test_tasks_read_a_whole_sequence_at_cls():
    encoder, batch = model_of().encoder, batch_of()
    states = encoder.hidden_states(batch)[-1]
    whole, read = encoder(batch), encoder(batch, torch.tensor([[0, 4], [3, 0], [0, 0]]))
    for row, length in enumerate(LENGTHS.tolist()):
        summary = torch.cat((states[row, length - 1, :8], states[row, 0, 8:]))
        torch.testing.assert_close(whole[row, 0], summary, rtol=0, atol=1e-10)
        torch.testing.assert_close(whole[row, 1:length], states[row, 1:length], rtol=0, atol=1e-10)
    torch.testing.assert_close(read[0], whole[0, [0, 4]], rtol=0, atol=1e-10)
    torch.testing.assert_close(read[1], whole[1, [3, 0]], rtol=0, atol=1e-10)


def test_it_costs_two_causal_encoders():
    half = Model(layers=2, hidden=8, heads=2)
    assert BiTransformer(**FIELDS).flops_per_token(12, causal=False) == 2 * half.flops_per_token(12, causal=True)
    assert BiTransformer(**FIELDS).half == Model(layers=2, hidden=8, heads=2, dropout=0.0)
    assert Recipe(model=BiTransformer(**FIELDS), objective=OBJECTIVE).model.apart


@pytest.mark.parametrize("fields", [{"heads": 1}, {"hidden": 20, "heads": 5}, {"embedding_size": 8}])
def test_what_it_refuses(fields):
    with pytest.raises(BadInput, match="bitransformer"):
        BiTransformer(**FIELDS | fields)
