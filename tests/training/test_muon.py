"""Muon: orthogonal updates of the matrices of the encoder, AdamW's of all others."""

import math

import numpy as np
import pytest
import torch
from torch.optim.lr_scheduler import LambdaLR

from bertlab.model.attention import Attention
from bertlab.optimizers import AdamW, Muon
from bertlab.optimizers.updates.muon import COEFFICIENTS, ITERATIONS, orthogonal
from bertlab.training import module as optimization

FIRST, THIRD, FIFTH = COEFFICIENTS


def by_singular_values(matrix):
    """The iteration is a polynomial of each singular value of the matrix divided by its norm."""
    left, values, right = np.linalg.svd(matrix / np.linalg.norm(matrix), full_matrices=False)
    for _ in range(ITERATIONS):
        values = FIRST * values + THIRD * values**3 + FIFTH * values**5
    return left @ np.diag(values) @ right


@pytest.mark.parametrize("shape", [(1, 5, 5), (2, 4, 9), (3, 9, 4)])
def test_singular_values_go_to_1_and_singular_vectors_stay(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    made = orthogonal(matrices)
    for one, other in zip(made, matrices, strict=True):
        np.testing.assert_allclose(one, by_singular_values(other.numpy()), atol=1e-12)
    values = torch.linalg.svdvals(made)
    assert 0.6 < values.min() <= values.max() < 1.3


class Tower(torch.nn.Module):
    """An encoder with an embedding, under a head."""

    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Embedding(3, 2), torch.nn.Linear(2, 2))
        self.head = torch.nn.Linear(2, 1)


def update(optimizer, rate):
    optimization.clip(optimizer, 1e9, torch.zeros(()))
    LambdaLR(optimizer, lambda step: rate)
    optimizer.step()


def test_matrices_of_the_encoder_have_two_nesterov_steps_made_orthogonal():
    """By hand: m = 0.95 m + 0.05 g, d = 0.05 g + 0.95 m, x -= lr (0.2 sqrt(2) orthogonal(d) + wd x)."""
    tower = Tower().double()
    made = optimization.build(tower, Muon(weight_decay=0.1))
    linear = tower.encoder[1].weight
    x, mean = linear.detach().numpy().copy(), np.zeros((2, 2))
    for g in (np.array([[1.0, -2.0], [0.5, 0.0]]), np.array([[-1.0, 0.25], [2.0, 1.0]])):
        for value in tower.parameters():
            value.grad = torch.ones_like(value)
        linear.grad = torch.tensor(g)
        update(made, 0.1)
        mean = 0.95 * mean + 0.05 * g
        x = x - 0.1 * (0.2 * math.sqrt(2) * by_singular_values(0.05 * g + 0.95 * mean) + 0.1 * x)
        np.testing.assert_allclose(linear.detach(), x, atol=1e-12)


def test_embeddings_heads_and_biases_have_adamw():
    towers = Tower().double(), Tower().double()
    towers[1].load_state_dict(towers[0].state_dict())
    made = [optimization.build(tower, arm) for tower, arm in zip(towers, (Muon(), AdamW()), strict=True)]
    draws = torch.Generator().manual_seed(0)
    for _ in range(3):
        for values in zip(*(tower.parameters() for tower in towers), strict=True):
            gradient = torch.randn(values[0].shape, generator=draws, dtype=torch.float64)
            for value in values:
                value.grad = gradient.clone()
        for optimizer in made:
            update(optimizer, 0.1)
    pairs = zip(towers[0].named_parameters(), towers[1].parameters(), strict=True)
    same = {name: torch.allclose(one, other, rtol=1e-9) for (name, one), other in pairs}
    assert same == {name: name != "encoder.1.weight" for name in same}


def test_attention_is_updated_as_by_the_one_of_torch():
    """Queries, keys and values are three matrices; torch computes in bf16."""
    attention = Attention(8, 2, 0.0)
    tower = torch.nn.ModuleDict({"encoder": attention})
    ours = optimization.build(tower, Muon(weight_decay=0.1))
    parts = [*attention.qkv_proj.weight.detach().clone().split(8), attention.out_proj.weight.detach().clone()]
    theirs = torch.optim.Muon(parts, lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    draws = torch.Generator().manual_seed(0)
    for _ in range(3):
        for value in attention.parameters():
            value.grad = torch.randn(value.shape, generator=draws)
        gradients = [*attention.qkv_proj.weight.grad.split(8), attention.out_proj.weight.grad]
        for part, gradient in zip(parts, gradients, strict=True):
            part.grad = gradient.clone()
        update(ours, 0.01)
        theirs.step()
    moved = torch.cat([*attention.qkv_proj.weight.detach().split(8), attention.out_proj.weight.detach()])
    torch.testing.assert_close(moved, torch.cat(parts), rtol=0.0, atol=1e-3)  # three updates are 6e-3


def test_it_holds_still_from_the_first_broken_step_on():
    tower = Tower()
    made = optimization.build(tower, Muon())
    for loss, gradient, moves in ((1.0, 1.0, True), (math.nan, math.inf, False), (1.0, 1.0, False)):
        for value in tower.parameters():
            value.grad = torch.full_like(value, gradient)
        before = [value.detach().clone() for value in tower.parameters()]
        optimization.clip(made, 1.0, torch.tensor(loss))
        made.step()
        for old, new in zip(before, tower.parameters(), strict=True):
            assert (not torch.equal(old, new)) == moves
