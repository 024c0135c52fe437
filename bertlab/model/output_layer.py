"""The output layer of a decoder: the output matrix alone."""

import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.model.heads import vocabulary_loss


class OutputLayer(nn.Module):
    """Logits without a transform and a bias, as in T5 (Raffel et al. 2020, released code)."""

    def forward(self, hidden: Tensor, embeddings: Tensor) -> Tensor:
        """Vectors (..., D) and the output matrix (V, D) -> logits (..., V)."""
        return F.linear(hidden, embeddings.to(hidden.dtype))

    def loss(self, hidden: Tensor, embeddings: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """The sum of the cross-entropies of `targets` (B, K), times `weights` (B, K), at vectors (B, K, D)."""
        return vocabulary_loss(self, hidden, embeddings, targets, weights, sparse=True)
