"""PowerNorm (Shen et al. 2020, Algorithm 2): vectors over a running quadratic mean of each of their features.

A step normalises by statistics of the steps before it, forwards and backwards. Each is a mean over all tokens of the
global batch except padding: a forward pass only adds to sums, which `update_statistics` reads once a step. So neither
micro-batches nor processes change what is computed.

As in the released code, each group of features, one per head, is first divided by its own quadratic mean in the token.
Unlike it, no step normalises by its own batch during the learning-rate warm-up: that would depend on how it is split.
Instead the statistics are plain means of the first steps until these are as many as an exponential mean spans.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

DECAY = 0.9
"""Of both statistics, per step: the released code's `alpha_fwd` and `alpha_bkw`."""
EPSILON = 1e-5


class PowerNorm(nn.Module):
    """Normalises the vectors of an encoder's layers; its statistics stand still in evaluation mode."""

    over_tokens = True
    quadratic_mean: Tensor
    """(D) the running mean of squares."""
    gradient_mean: Tensor
    """(D) the running mean of the products of normalised features and their gradients."""
    steps: Tensor
    """() the steps that are in them."""
    sums: Tensor
    """(D + 1) since the last update: the sum of squares, and the tokens."""

    def __init__(self, hidden: int, groups: int) -> None:
        super().__init__()
        self.groups = groups
        self.weight, self.bias = nn.Parameter(torch.ones(hidden)), nn.Parameter(torch.zeros(hidden))
        self.register_buffer("quadratic_mean", torch.ones(hidden))  # on average that of vectors scaled by group
        self.register_buffer("gradient_mean", torch.zeros(hidden))
        self.register_buffer("steps", torch.zeros(()))
        self.register_buffer("sums", torch.zeros(hidden + 1), persistent=False)
        self.loss_scale = 1.0
        """The multiple of the loss whose gradients `backward` computes."""

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """(B, T, D) -> (B, T, D); `real` (B, T) are the tokens that are no padding, None if all are."""
        grouped = x.to(self.weight.dtype).view(*x.shape[:-1], self.groups, -1)
        wide = (grouped * (grouped.square().mean(-1, keepdim=True) + EPSILON).rsqrt()).flatten(-2)
        if self.training:
            with torch.no_grad():
                own = torch.ones_like(wide[..., :1]) if real is None else real[..., None].to(wide.dtype)
                self.sums.add_(torch.cat((wide.square() * own, own), -1).flatten(0, -2).sum(0))
        normed = wide * (self.quadratic_mean + EPSILON).rsqrt()
        if self.training:
            kept = normed.detach() if real is None else normed.detach() * real[..., None]
            approximate: Any = _Approximate  # torch's `apply` has no types
            normed = approximate.apply(normed, kept, self.gradient_mean * self.loss_scale)
        out: Tensor = (normed * self.weight + self.bias).to(x.dtype)
        return out

    def update(self, sums: Tensor) -> None:
        """Adds a step to the statistics: its `sums`, and the gradient of its loss, which `weight` has."""
        squares, count = sums[:-1], sums[-1].clamp(min=1)
        share = (1 / (self.steps + 1)).clamp(min=1 - DECAY)
        batch_mean = squares / count
        # The gradient of a gain is the sum of its feature's products with the gradient of the output.
        gradient = torch.zeros_like(self.weight) if self.weight.grad is None else self.weight.grad
        products = self.weight.detach() * gradient / count
        power = batch_mean / (self.quadratic_mean + EPSILON)
        self.gradient_mean += (1 - DECAY) * (products - self.gradient_mean * power)
        self.quadratic_mean += share * (batch_mean - self.quadratic_mean)
        self.steps += 1
        self.sums.zero_()


class _Approximate(torch.autograd.Function):
    """The identity, from whose gradient the backward pass of Algorithm 2 subtracts `mean` times the input: what a
    gradient through statistics of the batch subtracts, on average over steps."""

    @staticmethod
    def forward(ctx: Any, normed: Tensor, real: Tensor, mean: Tensor) -> Tensor:
        """(B, T, D), the same with 0 on padding, and (D) -> (B, T, D)."""
        ctx.save_for_backward(real, mean)
        return normed.view_as(normed)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """The gradient of the first."""
        real, mean = ctx.saved_tensors
        return gradient - mean * real, None, None


def running(module: nn.Module) -> list[PowerNorm]:
    """The normalisations in `module` that have running statistics."""
    return [each for each in module.modules() if isinstance(each, PowerNorm)]


@torch.no_grad()
def update_statistics(norms: Sequence[PowerNorm], total: Callable[[Tensor], Tensor]) -> None:
    """Ends a step of all `norms` in training; `total` adds a tensor up over the processes, as gradients are by now."""
    trained = [each for each in norms if each.training]
    if trained:
        sums = total(torch.cat([each.sums for each in trained]))
        for norm, own in zip(trained, torch.split(sums, [len(each.sums) for each in trained]), strict=True):
            norm.update(own)
