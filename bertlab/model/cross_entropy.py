"""Cross-entropy of a wide linear layer, without copies of its logits.

The logits of all predictions of a step are its largest array. Here they are made chunk by chunk, in the type of the
matrix products, and turned into probabilities in place while they are still in the cache; the loss has fp32 statistics.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def linear_cross_entropy(x: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """The weighted sum of the cross-entropies of softmax(x weight' + bias): nats, an fp32 scalar.

    `x` (N, D), `weight` (V, D), `bias` (V,), `targets` (N,) integers, `weights` (N,).
    """
    losses = F.cross_entropy(F.linear(x, weight, bias).float(), targets.long(), reduction="none")
    return torch.dot(losses, weights.float())
