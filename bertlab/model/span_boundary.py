"""The head of the span boundary objective (Joshi et al. 2020, section 3.2).

Shapes: B batch, K slots for tokens, S for spans, D hidden, E embeddings, V vocabulary.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.model.heads import vocabulary_loss
from bertlab.model.layers import EPSILON


class SpanBoundaryHead(nn.Module):
    """Two layers, each with GELU and LayerNorm, on the vectors of a span's two boundary tokens and the embedding of a
    position in the span.

    The output matrix is that of the token embeddings, which each call passes; its bias is the head's own.
    """

    def __init__(self, hidden: int, embeddings: int, vocabulary: int, positions: int, position_size: int) -> None:
        super().__init__()
        self.positions = nn.Embedding(positions, position_size)
        self.fc1 = nn.Linear(2 * hidden + position_size, hidden)
        self.norm1 = nn.LayerNorm(hidden, EPSILON)
        self.fc2 = nn.Linear(hidden, embeddings)
        self.norm2 = nn.LayerNorm(embeddings, EPSILON)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, boundaries: Tensor, spans: Tensor, offsets: Tensor, embeddings: Tensor) -> Tensor:
        """The logits of each token, (B, K, V).

        `boundaries` (B, 2S, D) are the vectors on the left of each span, then those on the right; `spans` (B, K) are
        the span of each token, `offsets` (B, K) its place in it, `embeddings` (V, E) the output matrix.
        """
        return self._logits(self._inputs(boundaries, spans, offsets), embeddings)

    def loss(
        self, boundaries: Tensor, spans: Tensor, offsets: Tensor, embeddings: Tensor, targets: Tensor, weights: Tensor
    ) -> Tensor:
        """The sum of the cross-entropies of `targets` (B, K), times `weights` (B, K)."""
        x = self._inputs(boundaries, spans.long(), offsets.long())
        return vocabulary_loss(self._logits, x, embeddings, targets, weights, sparse=True)

    def _inputs(self, boundaries: Tensor, spans: Tensor, offsets: Tensor) -> Tensor:
        outside = torch.cat(boundaries.chunk(2, 1), -1)  # (B, S, 2D)
        # Products with indicators: the backward pass of a lookup adds in no fixed order on a GPU.
        of_span = F.one_hot(spans, outside.shape[1]).to(outside.dtype)
        table = self.positions.weight
        of_position = F.one_hot(offsets.clamp(max=len(table) - 1), len(table)).to(table.dtype)
        return torch.cat((of_span @ outside, of_position @ table), -1)

    def _logits(self, x: Tensor, embeddings: Tensor) -> Tensor:
        x = self.norm1(F.gelu(self.fc1(x)))
        x = self.norm2(F.gelu(self.fc2(x)))
        return F.linear(x, embeddings, self.bias)
