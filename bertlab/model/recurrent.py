"""A tagger over given features: the two-layer BiLSTM of the feature-based approach (Devlin et al. 2019, section 5.3).

The backward direction begins at a row's last token and not in its padding: it is an LSTM of its own over rows that were
turned round within their lengths. That equals a packed bidirectional LSTM and keeps to the faster padded kernels.

Shapes: B batch, T tokens, D features, N units a direction.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bertlab.inputs.keyed import key
from bertlab.model.dropout import Noise
from bertlab.model.encoder import gather_rows, initialise
from bertlab.model.heads import DEVIATION


class BiLSTMTagger(nn.Module):
    """Labels for the tokens of a sequence, from features that stay as they are."""

    def __init__(self, inputs: int, hidden: int, layers: int, labels: int, dropout: float, seed: int) -> None:
        """`inputs` features a token, `hidden` units a direction. All weights start from `seed`."""
        super().__init__()
        self.noise = Noise(dropout)
        widths = [inputs] + [2 * hidden] * (layers - 1)
        self.rightward = nn.ModuleList(nn.LSTM(width, hidden, batch_first=True) for width in widths)
        self.leftward = nn.ModuleList(nn.LSTM(width, hidden, batch_first=True) for width in widths)
        self.output = nn.Linear(2 * hidden, labels)
        # An LSTM starts with its gates' inputs at unit scale, 1 / sqrt(N); BERT's 0.02 would starve it.
        initialise(self.rightward, hidden**-0.5, seed)
        initialise(self.leftward, hidden**-0.5, key(seed, "leftward"))
        initialise(self.output, DEVIATION, seed)

    def forward(self, features: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, T, D) and the tokens of each row (B,), None for T of all -> logits (B, T, labels), fp32."""
        turned = _turned(features, lengths)
        x = features
        for rightward, leftward in zip(self.rightward, self.leftward, strict=True):
            x = self.noise.drop(x, self.training)
            right, _ = rightward(x)
            left, _ = leftward(gather_rows(x, turned))
            x = torch.cat((right, gather_rows(left, turned)), dim=-1)  # (B, T, 2N)
        logits: Tensor = self.output(self.noise.drop(x, self.training)).float()
        return logits


def _turned(features: Tensor, lengths: Tensor | None) -> Tensor:
    """(B, T) the place of each token when rows are turned round within their lengths; padding stays."""
    batch, tokens, _ = features.shape
    place = torch.arange(tokens, device=features.device).expand(batch, -1)
    if lengths is None:
        return place.flip(1)
    last = lengths[:, None] - 1
    return torch.where(place <= last, last - place, place)
