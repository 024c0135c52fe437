"""The two-layer bidirectional LSTM that tags from frozen features (Devlin et al. 2019, section 5.3).

Each direction is an LSTM of its own over padded rows; the backward one reads rows that were turned round within their
lengths. That equals a packed bidirectional LSTM and keeps to the fast kernels, in bf16 too.

Shapes: B batch, T words, F features, D units a direction, C labels.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bertlab.inputs.keyed import key
from bertlab.model.dropout import Noise
from bertlab.model.encoder import gather_rows


class BiLSTMTagger(nn.Module):
    """Features of words in, a logit for each label out."""

    def __init__(self, features: int, hidden: int, layers: int, labels: int, dropout: float, seed: int) -> None:
        """Starts every weight from uniform(-1/sqrt(D), 1/sqrt(D)), as a function of `seed` and its name."""
        super().__init__()
        self.noise = Noise(dropout)
        widths = [features] + [2 * hidden] * (layers - 1)
        self.forwards = nn.ModuleList(nn.LSTM(width, hidden, batch_first=True) for width in widths)
        self.backwards = nn.ModuleList(nn.LSTM(width, hidden, batch_first=True) for width in widths)
        self.output = nn.Linear(2 * hidden, labels)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                generator = torch.Generator().manual_seed(key(seed, "weights", name) & (2**63 - 1))
                start = torch.rand(parameter.shape, generator=generator) * 2 - 1
                parameter.copy_(start / hidden**0.5)

    def forward(self, features: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, F) and how many words of each row are real (B,) -> logits (B, T, C), fp32; padding gives anything."""
        turned = _turned(features.shape[1], lengths)
        x = features
        for onward, backward in zip(self.forwards, self.backwards, strict=True):
            x = self.noise.drop(x, self.training)
            right, _ = onward(x)
            left, _ = backward(gather_rows(x, turned))
            x = torch.cat((right, gather_rows(left, turned)), dim=-1)
        logits: Tensor = self.output(self.noise.drop(x, self.training)).float()
        return logits


def _turned(words: int, lengths: Tensor) -> Tensor:
    """(B, T) the position that each position takes when rows are turned round within their lengths."""
    place = torch.arange(words, device=lengths.device)
    return torch.where(place < lengths[:, None], lengths[:, None] - 1 - place, place)
