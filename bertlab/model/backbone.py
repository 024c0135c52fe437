"""What heads and objectives know of the network below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor, nn


class Backbone(Protocol):
    """Tokens in, one vector a token out: a module such as `Encoder`, or `RecurrentEncoder` on top of one.

    Shapes: B batch, T tokens, K positions that are read of a sequence, D hidden.
    """

    @property
    def causal(self) -> bool:
        """Whether no token sees a later one."""

    @property
    def hidden_size(self) -> int:
        """D."""

    @property
    def num_layers(self) -> int:
        """Transformer layers."""

    @property
    def levels(self) -> Sequence[nn.Module]:
        """The embeddings and each Transformer layer, from the input on."""

    def __call__(
        self, tokens: Tensor, segments: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """The last layer's vectors: (B, T, D), or (B, K, D) at the `positions` (B, K).

        `tokens` and `segments` are (B, T) integers; `lengths` (B,) says where padding begins, None that there is none.
        """
