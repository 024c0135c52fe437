"""BiLSTMs: the tagger of the feature-based approach, and what a head may be given instead of the encoder itself
(Devlin et al. 2019, sections 5.3 and 5.1).

The backward direction begins at a row's last token and not in its padding: it is an LSTM of its own over rows that were
turned round within their lengths. That equals a packed bidirectional LSTM and keeps to the faster padded kernels.

Shapes: B batch, T tokens, K positions that are read, D features, N units a direction.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bertlab.keyed import key
from bertlab.model.encoder import Encoder
from bertlab.model.initial import HEAD_STD, initialise
from bertlab.model.layers import gather

LAYERS = 2
"""Of the BiLSTM between an encoder and a head."""


class BiLSTM(nn.Module):
    """Layers that read a sequence in both directions; dropout before each."""

    def __init__(self, inputs: int, hidden: int, layers: int, dropout: float, seed: int) -> None:
        """`inputs` features a token, `hidden` units a direction. All weights start from `seed`."""
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        widths = [inputs] + [2 * hidden] * (layers - 1)
        self.rightward = nn.ModuleList(nn.LSTM(width, hidden, batch_first=True) for width in widths)
        self.leftward = nn.ModuleList(nn.LSTM(width, hidden, batch_first=True) for width in widths)
        # An LSTM starts with its gates' inputs at unit scale, 1 / sqrt(N); BERT's 0.02 would starve it.
        initialise(self.rightward, hidden**-0.5, seed)
        initialise(self.leftward, hidden**-0.5, key(seed, "leftward"))

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, T, D) and the tokens of each row (B,), None for T of all -> (B, T, 2N)."""
        turned = _turned(x, lengths)
        for rightward, leftward in zip(self.rightward, self.leftward, strict=True):
            x = self.dropout(x)
            right, _ = rightward(x)
            left, _ = leftward(gather(x, turned))
            x = torch.cat((right, gather(left, turned)), dim=-1)
        return x


class BiLSTMTagger(nn.Module):
    """Labels for the tokens of a sequence, from features that stay as they are."""

    def __init__(
        self, inputs: int, hidden: int, layers: int, labels: int, dropout: float, seed: int, summed: int = 0
    ) -> None:
        """`inputs` features a token, `hidden` units a direction. All weights start from `seed`.

        With `summed`, the features are so many levels of an encoder side by side, and what is read is their sum, with
        weights that are learned: a softmax, level at first, and a common factor (Peters et al. 2018, equation 1).
        """
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.shares = nn.Parameter(torch.zeros(summed)) if summed else None
        self.factor = nn.Parameter(torch.ones(())) if summed else None
        self.recurrent = BiLSTM(inputs // (summed or 1), hidden, layers, dropout, seed)
        self.output = nn.Linear(2 * hidden, labels)
        initialise(self.output, HEAD_STD, seed)

    def forward(self, features: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, T, D) and the tokens of each row (B,), None for T of all -> logits (B, T, labels), fp32."""
        x = features
        if self.shares is not None and self.factor is not None:
            levels = features.view(*features.shape[:2], len(self.shares), -1)  # (B, T, levels, D / levels)
            x = self.factor * torch.einsum("btld,l->btd", levels, self.shares.softmax(0).to(levels.dtype))
        x = self.dropout(self.recurrent(x, lengths))
        logits: Tensor = self.output(x).float()
        return logits


class RecurrentEncoder(nn.Module):
    """A `Backbone`: an encoder under a new two-layer BiLSTM of its width (BERT section 5.1)."""

    def __init__(self, encoder: Encoder, seed: int) -> None:
        super().__init__()
        self.encoder, self.causal = encoder, encoder.causal
        self.hidden_size, self.num_layers = encoder.hidden_size, encoder.num_layers
        self.recurrent = BiLSTM(self.hidden_size, self.hidden_size // 2, LAYERS, encoder.embeddings.dropout.p, seed)

    @property
    def levels(self) -> list[nn.Module]:
        """Those of the encoder."""
        return self.encoder.levels

    def forward(
        self, tokens: Tensor, segments: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """As `Encoder.forward`: (B, T, D), or (B, K, D) at the `positions` (B, K)."""
        x: Tensor = self.recurrent(self.encoder(tokens, segments, lengths), lengths)
        return x if positions is None else gather(x, positions)


def _turned(features: Tensor, lengths: Tensor | None) -> Tensor:
    """(B, T) the place of each token when rows are turned round within their lengths; padding stays."""
    batch, tokens, _ = features.shape
    place = torch.arange(tokens, device=features.device).expand(batch, -1)
    if lengths is None:
        return place.flip(1)
    last = lengths[:, None] - 1
    return torch.where(place <= last, last - place, place)
