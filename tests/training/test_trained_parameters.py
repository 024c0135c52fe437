"""What each way of adaptation trains of BERT base, counted by hand (768 wide, 12 layers, 30,522 entries, 3 labels)."""

import pytest
import torch

from bertlab.adaptation import Adapters, BitFit, FineTuning, GradualUnfreezing, LoRA, TopLayers
from bertlab.model.heads import PretrainingModel
from bertlab.objectives import SpanCorruption
from bertlab.recipe import T5, Model
from bertlab.tasks import kinds

D = 768
EMBEDDINGS = (30_522 + 2 + 512) * D + 2 * D
LAYER = 4 * (D * D + D) + (D * 4 * D + 4 * D) + (4 * D * D + D) + 2 * 2 * D
POOLER = D * D + D
HEAD = 3 * (D + 1)
LSTM = 4 * (D // 2) * (D + D // 2 + 2)  # one direction of one layer


@pytest.mark.parametrize(
    ("adaptation", "trained"),
    [
        (FineTuning(), EMBEDDINGS + 12 * LAYER + POOLER),
        (FineTuning(frozen=True), POOLER),
        (FineTuning(frozen=True, bilstm=True), 2 * 2 * LSTM + POOLER),
        (TopLayers(), LAYER + POOLER),
        (TopLayers(layers=3), 3 * LAYER + POOLER),
        (TopLayers(reinitialised=True), EMBEDDINGS + 12 * LAYER + POOLER),
        (Adapters(bottleneck=64), 24 * (2 * D * 64 + D + 64) + 25 * 2 * D),
        (Adapters(bottleneck=64, base_width=1024), 24 * (2 * D * 48 + D + 48) + 25 * 2 * D),
        (LoRA(rank=8), 12 * 2 * 8 * (D + D)),
        (LoRA(rank=8, matrices=("query", "fc1")), 12 * 8 * ((D + D) + (D + 4 * D))),
        (BitFit(), 12 * (3 * D + D + 4 * D + D + 2 * D) + D + D),
    ],
)
def test_of_bert_base(adaptation, trained):
    with torch.device("meta"):
        model = PretrainingModel(Model(), 30_522, 512, 0)
        adapted = adaptation.adapt(model, kinds.find("classification"), ("a", "b", "c"), ("k",))
    assert sum(value.numel() for value in adapted.parameters() if value.requires_grad) == trained + HEAD


T5_NORMS = 12 * (2 + 3) * D + 2 * D  # two in a layer of the encoder, three in one of the decoder, one above each stack
T5_MATRICES = (
    12 * (4 + 8 + 4 + 4 + 8) * D * D + 2 * 32 * 12
)  # attention, feed-forward; the same with cross-attention; biases


@pytest.mark.parametrize(
    ("adaptation", "trained"),
    [
        (FineTuning(), 32_128 * D + T5_MATRICES + T5_NORMS),
        (GradualUnfreezing(stages=12, embeddings=True), 32_128 * D + T5_MATRICES + T5_NORMS),
        *(
            (Adapters(bottleneck=d, after="feed-forward", activation="relu"), 24 * (2 * D * d + D + d) + T5_NORMS)
            for d in (32, 128, 512, 2048)
        ),
        (LoRA(rank=8, matrices=("query", "key", "value", "output")), (12 + 2 * 12) * 4 * 8 * (D + D)),
    ],
)
def test_of_t5_base(adaptation, trained):
    """222,903,552 parameters in all, as the published model has; adapters stand in both stacks, one in each layer."""
    with torch.device("meta"):
        model = PretrainingModel(T5(), 32_128, 512, 0, (SpanCorruption(),))
        adapted = adaptation.adapt(model, kinds.find("text-to-text"), (), ("k",))
    assert 32_128 * D + T5_MATRICES + T5_NORMS == 222_903_552
    assert sum(value.numel() for value in adapted.parameters() if value.requires_grad) == trained


def test_adapters_of_bert_large():
    """64 units are 1.92 % of 335,141,888 parameters; Houlsby et al. 2019, Table 1, prints 2.1 % a task."""
    with torch.device("meta"):
        model = PretrainingModel(Model(layers=24, hidden=1024, heads=16), 30_522, 512, 0)
        whole = sum(value.numel() for value in (*model.encoder.parameters(), *model.pooler.parameters()))
        adapted = Adapters(bottleneck=64, base_width=1024).adapt(
            model, kinds.find("classification"), ("a", "b"), ("k",)
        )
    trained = sum(value.numel() for value in adapted.encoder.parameters() if value.requires_grad)
    assert trained == 48 * (2 * 1024 * 64 + 1024 + 64) + 49 * 2 * 1024
    assert whole == 335_141_888
    assert 100 * trained / whole == pytest.approx(1.92, abs=0.005)


def test_the_whole_is_the_published_model():
    """bert-base-uncased has 109,482,240 parameters without its heads."""
    assert EMBEDDINGS + 12 * LAYER + POOLER == 109_482_240
