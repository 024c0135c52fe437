"""Dropout: a key repeats a step to the bit, and one probability holds for a whole model."""

import torch

from bertlab import recipe
from bertlab.model.heads import PretrainingModel, TensorBatch
from bertlab.model.layers import set_dropout


def test_a_step_is_repeated_to_the_bit_whatever_was_drawn_before():
    model = PretrainingModel(recipe.Model(layers=2, hidden=64, heads=2, dropout=0.1), 200, 32, seed=0).train()
    tokens = torch.randint(0, 200, (8, 32), generator=torch.Generator().manual_seed(0))
    positions = torch.arange(5).expand(8, 5) + 1
    slots = {"positions": positions, "targets": tokens[:, :5], "weights": torch.ones(8, 5)}
    arrays = {"masked_lm": slots, "next_sentence": {"labels": tokens[:, 0] % 2}}
    batch = TensorBatch(tokens, tokens % 2, None, arrays)

    def step(key):
        torch.manual_seed(key)
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = sum(model.losses(batch).values())
        loss.backward()
        return loss.item(), [each.grad.clone() for each in model.parameters()]

    loss, gradients = step(2**64 - 3)
    other, _ = step(1)
    torch.rand(10)
    again, repeated = step(2**64 - 3)
    assert loss == again != other
    assert all(torch.equal(one, two) for one, two in zip(gradients, repeated, strict=True))


def test_every_dropout_of_a_model_is_set():
    """Of embeddings, attention probabilities and both sublayers: at 0, training computes what evaluation does."""
    model = PretrainingModel(recipe.Model(layers=2, hidden=64, heads=2, dropout=0.5), 50, 16, seed=0)
    tokens = torch.arange(32).view(2, 16)
    plain = model.eval().encoder(tokens, tokens % 2)
    assert not torch.equal(model.train().encoder(tokens, tokens % 2), plain)
    set_dropout(model, 0.0)
    assert torch.equal(model.train().encoder(tokens, tokens % 2), plain)
