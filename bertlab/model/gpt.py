"""What GPT adds to a left-to-right model in fine-tuning (Radford et al. 2018, sections 3.2 and 3.3).

Shapes: B sequences, T tokens, K positions of a sequence that are read, D hidden, V vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from bertlab import recipe
from bertlab.model.attention import gather
from bertlab.model.backbone import Backbone, BackboneWrapper
from bertlab.model.initial import HEAD_STD


class EncoderWithLM(BackboneWrapper):
    """A left-to-right backbone with its LM head, which belongs to no level.

    In training it encodes whole sequences, once for the task and for the auxiliary loss.
    """

    def __init__(self, encoder: Backbone, loss: recipe.Loss, head: nn.Module) -> None:
        super().__init__(encoder)
        self.loss, self.head = loss, head
        self.states: Tensor | None = None
        """The vectors (B, T, D) of the last batch of training."""

    def encode(self, x: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """The last layer's vectors: see `Backbone.encode`."""
        if not self.training:
            return self.encoder.encode(x, lengths, positions)
        self.states = self.encoder.encode(x, lengths)
        return self.states if positions is None else gather(self.states, positions)

    def lm_loss(self, tokens: Tensor, lengths: Tensor | None) -> Tensor:
        """The loss of all tokens (B, T) but the first, each from those before it, in the last batch of training: the
        mean over a sequence's tokens, then over sequences, nats, a scalar."""
        assert self.states is not None
        states, self.states = self.states, None
        last = tokens.shape[1] - 1 if lengths is None else lengths[:, None] - 1
        columns = torch.arange(tokens.shape[1] - 1, device=tokens.device).expand(len(tokens), -1)
        weights = (columns < last).float()
        weights = weights / weights.sum(1, keepdim=True) / len(tokens)
        arrays = {"targets": tokens[:, 1:], "weights": weights}
        loss: Tensor = self.loss.loss_sum(self.head, states[:, :-1], arrays, self.output_embeddings)
        return loss


class OrderSum(nn.Module):
    """The vector of each example: the sum of those of its orders, which are one block of the batch each."""

    def __init__(self, orders: int) -> None:
        super().__init__()
        self.orders = orders

    def forward(self, vectors: Tensor) -> Tensor:
        """(orders x B, D) -> (B, D)."""
        return vectors.view(self.orders, -1, vectors.shape[-1]).sum(0)


def redraw(embeddings: Tensor, ids: Sequence[int], seed: int) -> None:
    """Draws the rows `ids` of the token embeddings (V, E) anew, in place, with a standard deviation of 0.02."""
    generator = torch.Generator().manual_seed(seed & (2**63 - 1))
    rows = HEAD_STD * torch.randn(len(ids), embeddings.shape[1], generator=generator)
    with torch.no_grad():
        embeddings[[*ids]] = rows.to(embeddings)
