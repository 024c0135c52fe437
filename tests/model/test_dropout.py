"""Keyed dropout: the same key gives the same bits, at the rate that was asked for."""

import pytest
import torch
from scipy import stats

from bertlab import recipe
from bertlab.model.dropout import Noise
from bertlab.model.heads import PretrainingModel


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.37])
def test_the_share_dropped_is_the_rate(rate, dtype):
    noise = Noise(rate, key=11)
    keep = noise.keep((1000, 1000), dtype)
    assert set(keep.unique().tolist()) == {0.0, 1.0}
    dropped = int((keep == 0).sum())
    assert stats.chisquare([dropped, 1_000_000 - dropped], [rate * 1e6, (1 - rate) * 1e6]).pvalue > 1e-4
    by_column = (keep == 0).sum(0).double()
    assert stats.chisquare(by_column, [by_column.sum() / 1000] * 1000).pvalue > 1e-4
    neighbours = (keep == 0).view(-1, 4).float()  # the four slices of a word must not hang together
    assert torch.corrcoef(neighbours.T).fill_diagonal_(0).abs().max() < 0.01


def test_the_kept_are_scaled_so_that_the_mean_stays():
    noise = Noise(0.1, key=5)
    x = torch.ones(1000, 1000)
    dropped = noise.drop(x, training=True)
    kept = dropped[dropped > 0]
    assert torch.all(kept == kept[0])
    assert float(kept[0]) == pytest.approx(1 / 0.9, rel=1e-4)
    assert float(dropped.mean()) == pytest.approx(1.0, abs=2e-3)


def test_adding_equals_dropping_and_adding_in_values_and_gradients():
    noise = Noise(0.3)
    residual, x = torch.randn(2, 5, 16).requires_grad_(), torch.randn(2, 5, 16).requires_grad_()
    noise.restart(9)
    added = noise.add(residual, x, training=True)
    added.square().sum().backward()
    first = residual.grad.clone(), x.grad.clone()
    residual.grad = x.grad = None
    noise.restart(9)
    apart = residual + noise.drop(x, training=True)
    apart.square().sum().backward()
    torch.testing.assert_close(added, apart)
    torch.testing.assert_close(first, (residual.grad, x.grad))


def test_nothing_is_dropped_in_evaluation_or_at_rate_zero():
    x = torch.randn(4, 4)
    assert torch.equal(Noise(0.5).drop(x, training=False), x)
    assert torch.equal(Noise(0.0).drop(x, training=True), x)
    assert torch.equal(Noise(0.5).add(x, x, training=False), x + x)


def test_a_step_is_repeated_to_the_bit_whatever_was_drawn_before():
    model = PretrainingModel(recipe.Model(layers=2, hidden=64, heads=2, dropout=0.1), 200, 32, seed=0).train()
    tokens = torch.randint(0, 200, (8, 32), generator=torch.Generator().manual_seed(0))
    positions = torch.arange(5).expand(8, 5) + 1
    arguments = (tokens, tokens % 2, None, positions, tokens[:, :5], torch.ones(8, 5), tokens[:, 0] % 2)

    def step(key):
        model.noise.restart(key)
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = sum(model.losses(*arguments))
        loss.backward()
        return loss.item(), [each.grad.clone() for each in model.parameters()]

    loss, gradients = step(2**64 - 3)
    other, _ = step(1)
    torch.rand(10)
    again, repeated = step(2**64 - 3)
    assert loss == again != other
    assert all(torch.equal(one, two) for one, two in zip(gradients, repeated, strict=True))
