"""Operations of backbones as torch counts them. The counted attention sees all tokens, so sequences have one."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import BidirectionalLM, CausalLM
from bertlab.recipe import LSTM, BiLSTM, BiTransformer, Model

SHAPE = {"layers": 3, "hidden": 32, "heads": 4}
BOTH = (BidirectionalLM(),)
LEFT_TO_RIGHT = (CausalLM(),)


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize(
    ("config", "objective"),
    [
        (Model(**SHAPE), LEFT_TO_RIGHT),
        (BiTransformer(**SHAPE), BOTH),
        (BiTransformer(**SHAPE, intermediate=80, positions="rotary", norm_position="pre"), BOTH),
        (BiLSTM(layers=3, hidden=32, cells=40), BOTH),
        (BiLSTM(layers=2, hidden=32, cells=40, embeddings="characters"), BOTH),
        (LSTM(layers=2, hidden=32, embedding_size=12), LEFT_TO_RIGHT),
    ],
)
def test_they_are_those_that_torch_counts(config, objective):
    encoder = PretrainingModel(config, 40, 64, 0, objective).encoder.double().eval()  # oneDNN's LSTM is not counted
    tokens = torch.arange(5, 15)[:, None]  # ten sequences of one token each, all different
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        encoder.encode(encoder.embed(TensorBatch.of(tokens))["inputs"])
    assert counter.get_total_flops() == 10 * config.flops_per_token(1, encoder.causal)


def test_both_directions_cost_twice_a_model_of_the_same_size():
    """BERT's section 5.1: twice as expensive as one bidirectional model; with attention to one side, a little less."""
    single = Model(layers=12, hidden=768, heads=12)
    both = BiTransformer(layers=12, hidden=1536, heads=24)
    assert both.half == single
    ratio = both.flops_per_token(512, causal=False) / single.flops_per_token(512, causal=False)
    assert 1.85 < ratio < 2
    layers = single.parameters(0, 0) - 4 * 768
    assert both.parameters(30_522, 512) == single.parameters(30_522, 512) + layers
