"""PowerNorm (Shen et al. 2020, Algorithm 2): vectors over a running quadratic mean of each of their features.

A step normalises by statistics of the steps before it, forwards and backwards. Each is a mean over all tokens of the
global batch except padding: a forward pass only adds to sums, which `update_statistics` reads once a step. So neither
micro-batches nor processes change what is computed.

As in the released code, each group of features, one per head, is first divided by its own quadratic mean in the token.
Unlike it, no step normalises by its own batch during the learning-rate warm-up: that would depend on how it is split.
Instead the statistics are plain means of the first steps until these are as many as an exponential mean spans.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

DECAY = 0.9
"""Decay of both statistics per step: the released code's `alpha_fwd` and `alpha_bkw`."""
EPSILON = 1e-5
CACHED = 2**18
"""Elements of a tensor that are normalised at a time on a CPU: a megabyte, so that they stay in its cache."""


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
        mean = self.gradient_mean * self.loss_scale if self.training else None
        normalise: Any = _Normalise  # torch's `apply` has no types
        out: Tensor
        out, sums = normalise.apply(
            x.to(self.weight.dtype), real, self.weight, self.bias, self.quadratic_mean, mean, self.groups
        )
        if self.training:
            with torch.no_grad():
                self.sums.add_(sums)
        return out.to(x.dtype)

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


class _Normalise(torch.autograd.Function):
    """Algorithm 2 in one operation. On a processor it takes some tokens at a time: its passes over all of them would
    wait for the memory.

    From the gradient of the normalised vectors the backward pass subtracts `mean` times these vectors: what a gradient
    through statistics of the batch subtracts, on average over steps. No gradient reaches padding.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        real: Tensor | None,
        weight: Tensor,
        bias: Tensor,
        quadratic_mean: Tensor,
        mean: Tensor | None,
        groups: int,
    ) -> tuple[Tensor, Tensor]:
        """(B, T, D), (B, T), then (D) each -> (B, T, D), and the sums of a step (D + 1)."""
        grouped = x.reshape(-1, groups, x.shape[-1] // groups)  # (N, G, D / G)
        gain = (quadratic_mean + EPSILON).rsqrt()
        factor, shift = (gain * weight).view(grouped.shape[1:]), bias.view(grouped.shape[1:])
        weights = x.new_ones(len(grouped), 1, 1) if real is None else real.reshape(-1, 1, 1).to(x.dtype)
        out, scales = torch.empty_like(grouped), x.new_empty(len(grouped), groups, 1)
        sums = torch.zeros_like(factor)
        for part, used, scale, to in _together(grouped, weights, scales, out):
            squares = part.square()
            torch.mean(squares, -1, keepdim=True, out=scale).add_(EPSILON).rsqrt_()
            torch.addcmul(shift, part * scale, factor, out=to)
            scale.mul_(used)
            sums += squares.mul_(scale.square()).sum(0)
        ctx.save_for_backward(grouped, scales, gain, weight, mean)
        total = torch.cat((sums.flatten(), weights.sum().view(1)))
        ctx.mark_non_differentiable(total)
        return out.view(x.shape), total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of `x`, `weight` and `bias`."""
        grouped, scales, gain, weight, mean = ctx.saved_tensors
        flat = gradient.reshape(grouped.shape)
        factor = (gain * weight).view(flat.shape[1:])
        less = None if mean is None else (mean * gain.square()).view(flat.shape[1:])
        out = torch.empty_like(grouped)
        of_weight, of_bias = torch.zeros_like(factor), torch.zeros_like(factor)
        for part, above, scale, to in _together(grouped, flat, scales, out):
            scaled = part * scale
            product = above * scaled
            of_weight += product.sum(0)
            of_bias += above.sum(0)
            torch.mul(above, factor, out=to)
            if less is not None:
                to.addcmul_(scaled, less, value=-1)
            along = torch.mul(to, scaled, out=product).mean(-1, keepdim=True)
            to.addcmul_(scaled, along, value=-1).mul_(scale)
        return out.view(gradient.shape), None, of_weight.flatten() * gain, of_bias.flatten(), None, None, None


def _together(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Splits all `tensors` along tokens, their first dimension, so that a part fits the cache; on a GPU not at all."""
    first = tensors[0]
    rows = len(first) if first.is_cuda else CACHED // first.shape[1:].numel()
    return zip(*(torch.split(tensor, max(1, rows)) for tensor in tensors), strict=True)


def running(module: nn.Module) -> list[PowerNorm]:
    """The normalisations in `module` that have running statistics."""
    return [child for child in module.modules() if isinstance(child, PowerNorm)]


@torch.no_grad()
def update_statistics(norms: Sequence[PowerNorm], total: Callable[[Tensor], Tensor]) -> None:
    """Ends a step of all `norms` in training; `total` adds a tensor up over the processes, as gradients are by now."""
    trained = [norm for norm in norms if norm.training]
    if trained:
        sums = total(torch.cat([norm.sums for norm in trained]))
        for norm, norm_sums in zip(trained, torch.split(sums, [len(norm.sums) for norm in trained]), strict=True):
            norm.update(norm_sums)
