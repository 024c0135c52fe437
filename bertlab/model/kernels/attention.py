"""Attention on the CPU as batched matrix products, in place of torch's fused kernel (Vaswani et al. 2017, section 3.2).

The fused kernel is slow there for short sequences, and with dropout computes in fp32. A training step is 1.2 to 1.4
times as fast at scales tiny and mini (`benchmarks/kernels.py`).

Shapes: B batch, H heads, K queries, T tokens, d the size of a head.

A bias is added to the scores and holds beside `causal`: (B or 1, H or 1, K or 1, T), minus infinity where a query sees
nothing. With `causal`, the queries are all tokens, and each sees only itself and those before it.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.model.kernels.dropout import Draw

SHORT = 128
"""Tokens up to which products are faster also without dropout."""


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
    draw: Draw = F.dropout,
) -> Tensor:
    """softmax(query key' / sqrt(d) + bias) value, with dropout on the probabilities, (B, H, K, d): the faster version.

    `query` is (B, H, K, d), `key` and `value` (B, H, T, d). The products draw their dropout by `draw`.
    """
    if bias is not None:
        bias = bias.to(query.dtype)  # a learned one is in fp32 under autocast
    if query.device.type == "cpu" and (dropout or key.shape[-2] <= SHORT):
        return by_products(query, key, value, bias, causal=causal, dropout=dropout, draw=draw)
    return fused(query, key, value, bias, causal=causal, dropout=dropout)


def fused(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, *, causal: bool = False, dropout: float = 0.0
) -> Tensor:
    """The plain version, of torch, which takes a bias or the causal mask alone."""
    if causal and bias is not None:
        bias, causal = bias + later_tokens(query), False
    return F.scaled_dot_product_attention(query, key, value, bias, dropout, causal)


def by_products(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
    draw: Draw = F.dropout,
) -> Tensor:
    """The same as two products with a softmax between them, all in the type of the inputs."""
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)  # (B, H, K, T)
    if causal:
        bias = later_tokens(query) if bias is None else bias + later_tokens(query)
    if bias is not None:
        scores = scores + bias
    return draw(torch.softmax(scores, -1, dtype=scores.dtype), dropout) @ value


def later_tokens(query: Tensor) -> Tensor:
    """(T, T): minus infinity on the tokens after each token, 0 elsewhere; type and device of `query` (B, H, T, d)."""
    tokens = query.shape[-2]
    return query.new_full((tokens, tokens), -torch.inf).triu_(1)
