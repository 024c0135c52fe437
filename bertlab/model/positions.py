"""Positions in attention: rotary angles (Su et al. 2021), and windows.

Shapes: B batch, H heads, T tokens, K positions of a sequence that are read, d the size of a head.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Rotation = tuple[Tensor, Tensor]
"""The cosines and sines of rotary angles: (T, d/2) each, or (B, 1, K, d/2)."""


class Rotary(nn.Module):
    """The angles of rotary positions: position p x `frequencies[i]` for pair i of a head (Su et al. 2021, equation 15).

    They are computed in the type of `frequencies` (d/2).
    """

    cosine: Tensor
    sine: Tensor

    def __init__(self, frequencies: Tensor, positions: int) -> None:
        super().__init__()
        angle = torch.arange(positions, dtype=frequencies.dtype)[:, None] * frequencies  # (positions, d/2)
        self.register_buffer("cosine", angle.cos().float(), persistent=False)
        self.register_buffer("sine", angle.sin().float(), persistent=False)

    def forward(self, tokens: int) -> Rotation:
        """The angles of the first `tokens` positions, (T, d/2) each."""
        return self.cosine[:tokens], self.sine[:tokens]


def rotate(x: Tensor, rotation: Rotation) -> Tensor:
    """`x` (B, H, T, d) with the pair (i, i + d/2) of each head rotated by its angle."""
    cosine, sine = (table.to(x.dtype) for table in rotation)
    first, second = x.chunk(2, -1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)


def rotation_at(positions: Tensor, rotation: Rotation) -> Rotation:
    """The angles at `positions` (B, K): (B, 1, K, d/2) each."""
    cosine, sine = (F.embedding(positions, table).unsqueeze(1) for table in rotation)
    return cosine, sine


def window_bias(bias: Tensor | None, reach: int, x: Tensor) -> Tensor:
    """(B or 1, H or 1, T, T): `bias` on the tokens up to `reach` from each token, minus infinity on others.

    Every token sees itself, so that padding, which may see nothing else, stays finite. It is like `x` (B, T, D).
    """
    position = torch.arange(x.shape[1], device=x.device)
    distance = (position[:, None] - position).abs()
    far = torch.zeros_like(distance, dtype=x.dtype).masked_fill_(distance > reach, -torch.inf)
    both = far[None, None] if bias is None else bias + far
    return both.masked_fill(distance == 0, 0.0)
