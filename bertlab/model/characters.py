"""Embeddings from characters, which ELMo has in place of a table (Peters et al. 2018, section 3.4; Kim et al. 2016).

The characters are bytes of UTF-8 between a mark of the beginning and one of the end. Tokens that are the same are
computed once.

Shapes: B batch, T tokens, P different tokens, L characters, C features of a character, F filters, D features.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.recipe.backbones.bilstm import CHARACTER_WIDTH, CHARACTERS, HIGHWAYS, LONGEST

BEGIN, END, PADDING = 256, 257, 258


class CharacterCNN(nn.Module):
    """Filters over the characters of a token, of which each gives its largest value; highway layers; a projection."""

    spelling: Tensor

    def __init__(self, vocabulary: int, width: int, filters: Sequence[tuple[int, int]]) -> None:
        """`filters` are pairs of a width, in characters, and of how many have it."""
        super().__init__()
        total = sum(count for _, count in filters)
        # The tokenizer gives it, not the weights.
        self.register_buffer("spelling", torch.full((vocabulary, LONGEST), PADDING).short(), persistent=False)
        self.embeddings = nn.Embedding(CHARACTERS, CHARACTER_WIDTH)
        self.convolutions = nn.ModuleList(nn.Conv1d(CHARACTER_WIDTH, count, size) for size, count in filters)
        self.highways = nn.ModuleList(Highway(total) for _ in range(HIGHWAYS))
        self.projection = nn.Linear(total, width)

    def spell(self, pieces: Sequence[str]) -> None:
        """Takes the pieces of the vocabulary, in the order of their ids; longer ones are cut."""
        for row, piece in zip(self.spelling, pieces, strict=True):
            ids = [BEGIN, *piece.encode("utf-8", "replace")[: LONGEST - 2], END]
            row[: len(ids)] = torch.tensor(ids)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, T) ids -> (B, T, D)."""
        pieces, places = torch.unique(tokens, return_inverse=True)
        x = self.embeddings(self.spelling[pieces].long()).transpose(1, 2)  # (P, C, L)
        x = torch.cat([F.relu(convolution(x).amax(-1)) for convolution in self.convolutions], -1)  # (P, F)
        for highway in self.highways:
            x = highway(x)
        return F.embedding(places, self.projection(x))


class Highway(nn.Module):
    """g ReLU(W x) + (1 - g) x, where the gate g is nearly closed at first (Srivastava et al. 2015)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate, self.transform = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(P, F) -> (P, F)."""
        gate = torch.sigmoid(self.gate(x) - 2.0)  # the first value of the bias in the released code
        return gate * F.relu(self.transform(x)) + (1 - gate) * x
