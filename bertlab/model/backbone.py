"""The protocol of networks below heads and objectives."""

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor, nn


class Backbone(Protocol):
    """A module with one vector per token, such as `Encoder`, or `RecurrentEncoder` on top of one.

    Shapes: B batch, T tokens, K positions of a sequence that are read, D hidden.
    """

    @property
    def causal(self) -> bool:
        """Whether each token sees only itself and those before it."""

    @property
    def hidden_size(self) -> int:
        """D."""

    @property
    def levels(self) -> Sequence[nn.Module]:
        """The embeddings and each Transformer layer, lowest first."""

    def __call__(
        self, tokens: Tensor, segments: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """The last layer's vectors: (B, T, D), or (B, K, D) at the `positions` (B, K).

        `tokens` and `segments` are (B, T) integers; padding begins at `lengths` (B,), None if there is none.
        """
