"""Attention on the CPU as batched matrix products, in place of torch's fused kernel (Vaswani et al. 2017, section 3.2).

The fused kernel is slow there for short sequences, and with dropout computes in fp32. A training step is 1.2 to 1.4
times as fast at scales tiny and mini (`benchmarks/kernels.py`).

Shapes: B batch, H heads, K queries, T tokens, d the size of a head.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

SHORT = 128
"""Tokens up to which products are faster also without dropout."""


def attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, *, causal: bool = False, dropout: float = 0.0
) -> Tensor:
    """softmax(query key' / sqrt(d) + bias) value, with dropout on the probabilities, (B, H, K, d): the faster version.

    `query` is (B, H, K, d), `key` and `value` (B, H, T, d), `bias` (B or 1, 1, K or 1, T). With `causal`, `bias` is the
    causal mask of all tokens, which fused kernels need not read.
    """
    if query.device.type == "cpu" and (dropout or key.shape[-2] <= SHORT):
        return by_products(query, key, value, bias, dropout=dropout)
    return fused(query, key, value, bias, causal=causal, dropout=dropout)


def fused(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, *, causal: bool = False, dropout: float = 0.0
) -> Tensor:
    """The plain version, of torch."""
    return F.scaled_dot_product_attention(query, key, value, None if causal else bias, dropout, causal)


def by_products(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, *, dropout: float = 0.0) -> Tensor:
    """The same as two products with a softmax between them, all in the type of the inputs."""
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)  # (B, H, K, T)
    if bias is not None:
        scores = scores + bias
    return F.dropout(torch.softmax(scores, -1, dtype=scores.dtype), dropout) @ value
