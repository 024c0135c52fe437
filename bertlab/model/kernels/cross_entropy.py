"""Cross-entropy of a wide linear layer, without copies of its logits.

The logits of all predictions of a step are its largest array. Here they are made chunk by chunk, in the type of the
matrix products, and turned into probabilities while they are in the cache; the statistics that the loss is made of are
fp32. The probabilities, less 1 at the targets, are what the backward needs: two products, with no array as
large as the logits beside them. An accelerator has plain operations in its place, which a compiled graph joins.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_CHUNK = 5_000_000
"""Logits that are made at once: what their fp32 copy takes fits a shared cache."""
_ALIGNED = 32
"""The width that the products' inner side is filled up to, the bias being one more column of the matrix."""


def linear_cross_entropy(x: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """The weighted sum of the cross-entropies of softmax(x weight' + bias): nats, a scalar in fp32, fp64 where `x` is.

    `x` (N, D), `weight` (V, D), `bias` (V,), `targets` (N,) integers, `weights` (N,).
    """
    if x.device.type != "cpu":
        logits = F.linear(x, weight, bias)
        losses = F.cross_entropy(logits.to(_wide(logits.dtype)), targets.long(), reduction="none")
        return torch.dot(losses, weights.to(losses.dtype))
    device = x.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
    total: Tensor = _LinearCrossEntropy.apply(  # type: ignore[no-untyped-call]
        x, weight, bias, targets.long(), weights.to(_wide(dtype)), dtype
    )
    return total


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, weights: Tensor, dtype: torch.dtype
    ) -> Tensor:
        rows, width = x.shape
        vocabulary = len(weight)
        filled = (width // _ALIGNED + 1) * _ALIGNED  # > D: a column of ones beside x makes the bias part of the product
        x_and_one = x.new_zeros(rows, filled, dtype=dtype)
        x_and_one[:, :width] = x
        x_and_one[:, width] = 1.0
        matrix = weight.new_empty(vocabulary, filled, dtype=dtype)
        matrix[:, :width] = weight
        matrix[:, width] = bias
        matrix[:, width + 1 :] = 0.0
        shares = x.new_empty(rows, vocabulary, dtype=dtype)
        wide = _wide(dtype)
        losses = x.new_empty(rows, dtype=wide)
        step = max(1, min(rows, _CHUNK // vocabulary))
        for start in range(0, rows, step):
            chunk = slice(start, start + step)
            logits = torch.mm(x_and_one[chunk], matrix.t(), out=shares[chunk])  # (n, V)
            at_target = logits.gather(1, targets[chunk, None]).to(wide)
            highest = logits.amax(1, keepdim=True).to(wide)
            exact = torch.softmax(logits, 1, dtype=wide)
            # The highest logit's share is at least 1 / V: its logarithm, unlike the target's, is always finite.
            normaliser = highest - exact.amax(1, keepdim=True).log()
            losses[chunk] = (normaliser - at_target)[:, 0]
            shares[chunk] = exact.scatter_(1, targets[chunk, None], (at_target - normaliser).expm1())
        ctx.save_for_backward(x_and_one, matrix, shares, weights)
        ctx.width, ctx.types = width, (x.dtype, weight.dtype, bias.dtype)
        return torch.dot(losses, weights)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x_and_one, matrix, shares, weights = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.types
        width = ctx.width
        scale = (weights * gradients[0])[:, None]  # (N, 1)
        for_x = torch.mm(shares, matrix).mul_(scale)  # (N, D+)
        for_matrix = torch.mm(shares.t(), x_and_one * scale.to(x_and_one.dtype))  # (V, D+)
        return (
            for_x[:, :width].to(of_x),
            for_matrix[:, :width].to(of_weight, memory_format=torch.contiguous_format),
            for_matrix[:, width].to(of_bias, memory_format=torch.contiguous_format),
            None,
            None,
            None,
        )


def _wide(dtype: torch.dtype) -> torch.dtype:
    """The type of the losses of logits of type `dtype`: no narrower than fp32."""
    return torch.promote_types(dtype, torch.float32)
