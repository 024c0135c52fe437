"""The language model of both directions: what it predicts from where, its loss by hand, and its audit."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from bertlab.inputs.streams import Batch, Sequences, Stream
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import BidirectionalLM
from bertlab.recipe import BiLSTM, Recipe

LOSS = BidirectionalLM()
TOKENS = np.array([[2, 7, 8, 3, 9, 3], [2, 5, 3, 0, 0, 0]], np.int32)
LENGTHS = np.array([6, 3], np.int32)


@pytest.fixture
def arrays():
    ids = np.arange(2)
    sequences = Sequences({"inputs": Stream(TOKENS.copy(), LENGTHS)}, np.zeros((2, 0), np.int32), LENGTHS - 2, ids, 0)
    return LOSS.batch_transform(None, 6, 0)(sequences)


def test_each_pair_of_neighbours_is_a_slot(arrays):
    assert arrays["following"].tolist() == [[7, 8, 3, 9, 3], [5, 3, 0, 0, 0]]
    assert arrays["preceding"].tolist() == [[2, 7, 8, 3, 9], [2, 5, 0, 0, 0]]
    assert arrays["weights"].tolist() == [[1] * 5, [1, 1, 0, 0, 0]]
    assert LOSS.count(arrays) == 14
    assert 12 * LOSS.predicted(12) == 22


def test_the_loss_is_the_sum_of_both_language_models(arrays):
    model = PretrainingModel(BiLSTM(hidden=8, cells=6, dropout=0.0), 10, 6, 0, (LOSS,)).double()
    torch.nn.init.normal_(model.bilm_head.bias)
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    tokens, lengths = torch.from_numpy(TOKENS), torch.from_numpy(LENGTHS)
    batch = TensorBatch.of(tokens, lengths, {LOSS.kind: tensors})
    encoder, expected = model.encoder, 0.0
    hidden = encoder.encode(encoder.embed(batch)["inputs"], lengths)
    for row, length in enumerate(LENGTHS):
        for column in range(length):
            right, left = hidden[row, column].chunk(2)
            for half, target in ((right, column + 1), (left, column - 1)):
                if 0 <= target < length:
                    logits = encoder.output_embeddings @ half + model.bilm_head.bias
                    expected -= logits.log_softmax(0)[TOKENS[row, target]].item()
    assert model.losses(batch)[LOSS.kind].item() == pytest.approx(expected, rel=1e-12)
    evaluation = _evaluation(model, batch)
    assert evaluation["bidirectional_lm_loss"] == pytest.approx(expected / 14, rel=1e-12)
    one, other = evaluation["left_to_right_loss"], evaluation["right_to_left_loss"]
    assert (one + other) / 2 == pytest.approx(evaluation["bidirectional_lm_loss"])
    assert one != other
    assert evaluation["left_to_right_perplexity"] == pytest.approx(math.exp(one))
    assert evaluation["right_to_left_perplexity"] == pytest.approx(math.exp(other))
    assert evaluation["bidirectional_perplexity"] == pytest.approx(math.exp((one + other) / 2))


def test_the_loss_of_a_model_that_knows_frequencies_alone(arrays):
    """Without hidden states, logits are the bias: here token v has the probability (v + 1) / 55. From the left all but
    the first token of a sequence are predicted, also across the [SEP] (3) between documents; from the right all but the
    last one."""
    model = PretrainingModel(BiLSTM(hidden=8, cells=6, dropout=0.0), 10, 6, 0, (LOSS,)).double().eval()
    with torch.no_grad():
        model.encoder.tokens.weight.zero_()
        model.bilm_head.bias.copy_(torch.arange(1, 11, dtype=torch.double).log())
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    batch = TensorBatch.of(torch.from_numpy(TOKENS), torch.from_numpy(LENGTHS), {LOSS.kind: tensors})
    from_left = math.log(55**7 / (8 * 9 * 4 * 10 * 4 * 6 * 4))  # 7 8 3 9 3 and 5 3
    from_right = math.log(55**7 / (3 * 8 * 9 * 4 * 10 * 3 * 6))  # 2 7 8 3 9 and 2 5
    assert model.losses(batch)[LOSS.kind].item() == pytest.approx(from_left + from_right, rel=1e-12)
    measured = _evaluation(model, batch)
    assert measured["left_to_right_loss"] == pytest.approx(from_left / 7, rel=1e-12)
    assert measured["right_to_left_loss"] == pytest.approx(from_right / 7, rel=1e-12)


def _evaluation(model, batch):
    """What it measures of one batch."""
    sums = LOSS.batch_sums(model, batch)
    return LOSS.totals({name: value.item() for name, value in sums.items()})


def test_the_audit_finds_a_prediction_of_something_else(arrays):
    def checks(**changed):
        batch = Batch({"inputs": Stream(TOKENS, LENGTHS)}, {}, {LOSS.kind: {**arrays, **changed}}, np.arange(2), None)
        return [check.holds for check in LOSS.audit(SimpleNamespace(batch=batch, name=str))]

    assert checks() == [True, True]
    wrong = arrays["following"].copy()
    wrong[0, 2] = TOKENS[0, 2]  # what the position has read itself
    assert checks(following=wrong) == [False, True]
    assert checks(preceding=arrays["following"]) == [True, False]
    assert checks(weights=np.ones_like(arrays["weights"])) == [False, False]


def test_its_recipe_is_not_compiled():
    recipe = Recipe(objective=(LOSS,), model=BiLSTM())
    assert not Machine(compile="yes").compiles(recipe)
    assert Machine(compile="yes").compiles(
        dataclasses.replace(recipe, objective=Recipe().objective, model=Recipe().model)
    )
