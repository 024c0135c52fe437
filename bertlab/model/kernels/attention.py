"""Scaled dot-product attention with dropout and rotary positions (Vaswani et al. 2017, section 3.2; Su et al. 2021).

On the CPU, at BERT's lengths, plain batched matrix products beat the fused kernel, which has a slow path for dropout;
one autograd function holds them together, with the rotation folded into the copies that bring heads to the front.
Elsewhere the fused kernel does it.

Shapes: B batch, T tokens, R queries a sequence (T, or fewer where few are read), D hidden, H heads, d = D / H.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.model.dropout import Noise
from bertlab.model.kernels.eager import eager_on_cpu

_SHORT = 128
"""Tokens up to which batched matrix products are the faster way without dropout too."""


def attention(
    projected: Tensor,
    queries: Tensor | None,
    heads: int,
    *,
    bias: Tensor | None,
    causal: bool,
    rotation: tuple[Tensor, Tensor] | None,
    query_rotation: tuple[Tensor, Tensor] | None,
    noise: Noise,
    training: bool,
) -> Tensor:
    """What each query reads out of the values: (B, R, D).

    `projected` is (B, T, 3D), queries, keys and values side by side; or, with `queries` (B, R, D) given, (B, T, 2D),
    keys and values. `bias` (B or 1, 1, R or 1, T) is added to the scores; `causal` says that it is the causal mask of
    all tokens, for which fused kernels have a way of their own. `rotation` holds the cosines and sines of the tokens'
    angles, (T, d/2) each; `query_rotation` those of the queries, (B, 1, R, d/2), where they are not all tokens.
    """
    batch, tokens, _ = projected.shape
    dropping = training and noise.threshold > 0
    on_cpu = projected.device.type == "cpu"
    by_hand = eager_on_cpu(projected) if dropping else on_cpu and tokens <= _SHORT  # masks are drawn outside of graphs
    if by_hand:
        read = tokens if queries is None else queries.shape[1]
        keep = noise.keep((batch * heads, read, tokens), projected.dtype) if dropping else None
        scale = noise.scale if dropping else 1.0
        mixed: Tensor = _Attention.apply(  # type: ignore[no-untyped-call]
            projected, queries, heads, bias, rotation, query_rotation or rotation, keep, scale
        )
        return mixed
    if queries is None:
        query, key, value = _to_heads(projected, 3, heads).unbind(0)  # each (B, H, T, d)
    else:
        query = _to_heads(queries, 1, heads)[0]  # (B, H, R, d)
        key, value = _to_heads(projected, 2, heads).unbind(0)
    if rotation is not None:
        query = _rotated(query, *(query_rotation or rotation))
        key = _rotated(key, *rotation)
    mixed = F.scaled_dot_product_attention(
        query, key, value,
        attn_mask=None if causal else bias, is_causal=causal, dropout_p=noise.rate if dropping else 0.0,
    )  # fmt: skip
    return mixed.transpose(1, 2).flatten(2)  # (B, R, D)


def _to_heads(x: Tensor, parts: int, heads: int) -> Tensor:
    """(B, T, parts D) -> (parts, B, H, T, d), a view."""
    batch, tokens, width = x.shape
    return x.view(batch, tokens, parts, heads, width // (parts * heads)).permute(2, 0, 3, 1, 4)


def _rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """`x` (B, H, T, d) with the pair (i, i + d/2) of each head turned by its angle."""
    cosine, sine = cosine.to(x.dtype), sine.to(x.dtype)
    first, second = x.chunk(2, -1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        queries: Tensor | None,
        heads: int,
        bias: Tensor | None,
        rotation: tuple[Tensor, Tensor] | None,
        query_rotation: tuple[Tensor, Tensor] | None,
        keep: Tensor | None,
        keep_scale: float,
    ) -> Tensor:
        if queries is None:
            query, key, value = _to_heads(projected, 3, heads)
        else:
            (query,) = _to_heads(queries, 1, heads)
            key, value = _to_heads(projected, 2, heads)
        batch, _, read, size = query.shape
        if rotation is not None and query_rotation is not None:
            query = _rotated(query, *query_rotation)
            key = _rotated(key, *rotation)
        query, key, value = (x.reshape(batch * heads, -1, size) for x in (query, key, value))  # (B H, R or T, d)
        scores = torch.baddbmm(query.new_empty(()), query, key.transpose(1, 2), beta=0, alpha=size**-0.5)  # (B H, R, T)
        if bias is not None:
            scores.view(batch, heads, read, -1).add_(bias)
        shares = torch.softmax(scores, -1)
        kept = shares if keep is None else shares * keep
        mixed = torch.baddbmm(query.new_empty(()), kept, value, beta=0, alpha=keep_scale)  # (B H, R, d)
        ctx.save_for_backward(query, key, value, shares, keep, *(rotation or ()), *(query_rotation or ()))
        ctx.heads, ctx.keep_scale, ctx.split = heads, keep_scale, queries is not None
        return mixed.view(batch, heads, read, size).transpose(1, 2).reshape(batch, read, heads * size)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, shares, keep, *rotations = ctx.saved_tensors
        heads, size = ctx.heads, query.shape[-1]
        batch = query.shape[0] // heads
        (of_mixed,) = _to_heads(gradients[0], 1, heads)
        of_mixed = of_mixed.reshape(batch * heads, -1, size)  # (B H, R, d)
        none = query.new_empty(())
        kept = shares if keep is None else shares * keep
        of_value = torch.baddbmm(none, kept.transpose(1, 2), of_mixed, beta=0, alpha=ctx.keep_scale)
        of_shares = torch.baddbmm(none, of_mixed, value.transpose(1, 2), beta=0, alpha=ctx.keep_scale)
        if keep is not None:
            of_shares.mul_(keep)
        of_scores = torch._softmax_backward_data(of_shares, shares, -1, shares.dtype)
        of_query = torch.baddbmm(none, of_scores, key, beta=0, alpha=size**-0.5).view(batch, heads, -1, size)
        of_key = torch.baddbmm(none, of_scores.transpose(1, 2), query, beta=0, alpha=size**-0.5)
        of_key, of_value = of_key.view(batch, heads, -1, size), of_value.view(batch, heads, -1, size)
        if rotations:  # the inverse rotation is the one by the opposite angle
            cosine, sine, query_cosine, query_sine = rotations
            of_query = _rotated(of_query, query_cosine, -query_sine)
            of_key = _rotated(of_key, cosine, -sine)
        nothing = (None,) * 6
        if ctx.split:
            return _from_heads(of_key, of_value), _from_heads(of_query), *nothing
        return _from_heads(of_query, of_key, of_value), None, *nothing


def _from_heads(*parts: Tensor) -> Tensor:
    """Each (B, H, T, d) -> (B, T, parts D), side by side."""
    batch, heads, tokens, size = parts[0].shape
    joined = parts[0].new_empty(batch, tokens, len(parts), heads, size)
    for index, part in enumerate(parts):
        joined[:, :, index].copy_(part.transpose(1, 2))
    return joined.view(batch, tokens, -1)
