"""The heads of ELECTRA and of its ablations (Clark et al. 2020, sections 2 and 3.5).

Shapes: B batch, T tokens, K prediction slots per sequence, D hidden, E embeddings, V vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab import recipe
from bertlab.model.backbone import Backbone
from bertlab.model.heads import LMHead
from bertlab.model.layers import APPROXIMATE


class GeneratorHead(nn.Module):
    """A masked language model that samples what it predicts: its own backbone, or the encoder's, under an LM head."""

    def __init__(self, model: recipe.BackboneConfig, vocabulary: int, separate: bool) -> None:
        """`model` describes the backbone, `separate` from the encoder or the encoder itself."""
        super().__init__()
        self.encoder: Backbone | None = model.new_encoder(vocabulary, model.max_length(0)) if separate else None
        self.lm_head = LMHead(model, vocabulary)

    def forward(
        self,
        encoder: Backbone,
        x: Tensor,
        lengths: Tensor | None,
        positions: Tensor,
        targets: Tensor,
        draws: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The cross-entropies of `targets` (B, K), nats, and a sample of each distribution, at `positions` (B, K).

        `x` (B, T, D) are the embeddings that `encoder` makes of the masked text. A sample is the first entry whose
        cumulative probability is above the draw, uniform in [0, 1): it has the softmax's distribution, and no gradient.
        """
        logits = self.lm_head(encoder.encode(x, lengths, positions), encoder.output_embeddings)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
        cumulative = logits.detach().softmax(-1).cumsum(-1)
        below = cumulative <= draws[..., None] * cumulative[..., -1:]
        return losses, below.sum(-1).clamp(max=logits.shape[-1] - 1)


class DetectionHead(nn.Module):
    """A layer with GELU, and the logit of being replaced (Clark et al. 2020, released code)."""

    def __init__(self, model: recipe.BackboneConfig) -> None:
        super().__init__()
        self.approximate = APPROXIMATE[model.activation]
        self.dense = nn.Linear(model.hidden, model.hidden)
        self.output = nn.Linear(model.hidden, 1)

    def forward(self, hidden: Tensor, embeddings: Tensor | None = None) -> Tensor:
        """(B, K, D) -> (B, K)."""
        logits: Tensor = self.output(F.gelu(self.dense(hidden), approximate=self.approximate))[..., 0]
        return logits


class CopyingLMHead(nn.Module):
    """An LM head, with `copies` under the probability of copying what is shown (Clark et al. 2020, section 3.5)."""

    def __init__(self, model: recipe.BackboneConfig, vocabulary: int, copies: bool) -> None:
        super().__init__()
        self.lm_head = LMHead(model, vocabulary)
        self.copy = nn.Linear(model.hidden, 1) if copies else None

    def forward(self, hidden: Tensor, embeddings: Tensor) -> Tensor:
        """The logits (B, K, V) of tokens that are not copied."""
        logits: Tensor = self.lm_head(hidden, embeddings)
        return logits

    def losses(self, hidden: Tensor, embeddings: Tensor, shown: Tensor, targets: Tensor) -> Tensor:
        """The cross-entropies of `targets` (B, K), nats, at vectors (B, K, D) of the tokens `shown` (B, K).

        With probability `copy` a token is what is shown, and else it has the distribution of the LM head.
        """
        logits = self(hidden, embeddings)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
        if self.copy is None:
            return losses
        gate = self.copy(hidden)[..., 0].to(losses.dtype)
        copied = F.logsigmoid(gate).masked_fill(shown != targets, -torch.inf)
        return -torch.logaddexp(copied, F.logsigmoid(-gate) - losses)
