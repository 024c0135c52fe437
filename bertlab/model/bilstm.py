"""Readers from the left and from the right that never meet (Peters et al. 2018, section 3.1).

Shapes: B batch, T tokens, K positions of a sequence that are read, D hidden, of which each direction has half.
"""

import warnings
from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab import recipe
from bertlab.model.attention import gather
from bertlab.model.backbone import Backbone, ReadAt
from bertlab.model.characters import CharacterCNN
from bertlab.model.heads import vocabulary_loss
from bertlab.model.layers import LayerNorm
from bertlab.model.recurrent import reversal
from bertlab.model.streams import Lengths, TensorBatch
from bertlab.recipe.objective import INPUTS


class Reader(Protocol):
    """Reads vectors from left to right: none depends on a later one."""

    def encode(self, x: Tensor, lengths: Tensor | None, positions: Tensor | None) -> Tensor:
        """The last layer's vectors (B, T, D / 2) for `x` (B, T, D / 2), or (B, K, D / 2) at the `positions` (B, K)."""

    def states(self, x: Tensor, lengths: Tensor | None) -> list[Tensor]:
        """`x` and the vectors of each layer."""


class TwoDirections(Backbone, ABC):
    """A reader from the left and one from the right over the same embeddings: a vector is [the one's; the other's].

    The right one begins at the last token of each sequence, never in its padding. A subclass sets both.
    """

    rightward: Reader
    leftward: Reader

    def encode(self, x: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """The last layer's vectors of the embeddings `x` (B, T, D / 2): see `Backbone.encode`."""
        reverse = reversal(x, lengths)
        read = None if positions is None else reverse.gather(1, positions)
        left = self.leftward.encode(gather(x, reverse), lengths, read)
        left = gather(left, reverse) if read is None else left
        return torch.cat((self.rightward.encode(x, lengths, positions), left), -1)

    def read(
        self, embedded: Mapping[str, Tensor], lengths: Lengths, read_at: Mapping[str, ReadAt]
    ) -> dict[str, Tensor]:
        """The last layer's vectors where each name reads them: see `Backbone.read`. A whole sequence is [the last
        token's left-to-right half; the right-to-left half at [CLS]], each of which has read all of it."""
        x, sizes = embedded[INPUTS], lengths[INPUTS]
        last = x.new_full((len(x),), x.shape[1] - 1, dtype=torch.long) if sizes is None else sizes - 1
        ends = torch.stack((last, torch.zeros_like(last)), 1)
        vectors = super().read(embedded, lengths, {name: ends if at is None else at for name, at in read_at.items()})
        for name in [name for name, at in read_at.items() if at is None]:
            right, left = vectors[name].chunk(2, -1)
            vectors[name] = torch.cat((right[:, 0], left[:, 1]), -1)
        return vectors

    def forward(self, batch: TensorBatch, positions: Tensor | None = None) -> Tensor:
        """The last layer's vectors: see `Backbone.forward`. At [CLS], of which tasks read a whole sequence, the halves
        are those of `read`."""
        at = torch.arange(batch.tokens.shape[1], device=batch.tokens.device) if positions is None else positions
        at, lengths = at.expand(len(batch.tokens), -1), batch.lengths[INPUTS]
        last = at.new_full((len(at), 1), batch.tokens.shape[1] - 1) if lengths is None else lengths[:, None] - 1
        right, left = super().forward(batch, torch.cat((at, last), 1)).chunk(2, -1)
        right = torch.where((at == 0)[..., None], right[:, -1:], right[:, :-1])
        return torch.cat((right, left[:, :-1]), -1)

    def hidden_states(self, batch: TensorBatch) -> list[Tensor]:
        """The vectors (B, T, D) of the embeddings, the same in both halves, and of each layer."""
        x, lengths = self.embed(batch)[INPUTS], batch.lengths[INPUTS]
        reverse = reversal(x, lengths)
        left = [gather(state, reverse) for state in self.leftward.states(gather(x, reverse), lengths)]
        return [torch.cat(both, -1) for both in zip(self.rightward.states(x, lengths), left, strict=True)]


class BiLSTMEncoder(TwoDirections):
    """ELMo's layers of LSTMs on token embeddings."""

    rightward: "LSTMs"
    leftward: "LSTMs"

    def __init__(self, model: recipe.BiLSTM, vocabulary: int, max_length: int, causal: bool = False) -> None:
        super().__init__(model.hidden, model.layers, max_length, causal)
        width = model.embedding_width
        self.tokens = nn.Embedding(vocabulary, width)
        spelt = model.embeddings == "characters"
        self.characters = CharacterCNN(vocabulary, width, model.filters) if spelt else None
        self.norm = LayerNorm(width, model.layer_norm_eps)
        self.dropout = nn.Dropout(model.dropout)
        self.rightward = LSTMs(width, model.units, model.layers, model.dropout)
        self.leftward = LSTMs(width, model.units, model.layers, model.dropout)

    @property
    def levels(self) -> list[nn.Module]:
        """The embeddings, and each layer of both directions."""
        layers = zip(self.rightward.layers, self.leftward.layers, strict=True)
        embeddings = [self.tokens, self.norm, *([self.characters] if self.characters else [])]
        return [nn.ModuleList(embeddings), *(nn.ModuleList(both) for both in layers)]

    def spell(self, pieces: Sequence[str]) -> None:
        """Takes the pieces of the vocabulary, whose characters it may read."""
        if self.characters is not None:
            self.characters.spell(pieces)

    @property
    def output_embeddings(self) -> Tensor:
        """The token embeddings (V, D / 2), or a table of its own if these come from characters."""
        return self.tokens.weight

    def embed(self, batch: TensorBatch) -> dict[str, Tensor]:
        """The normalised embeddings (B, T, D / 2) of the stream `INPUTS`."""
        vectors = self.tokens(batch.tokens) if self.characters is None else self.characters(batch.tokens)
        return {INPUTS: self.dropout(self.norm(vectors))}


class ProjectedLSTM(nn.LSTM):
    """One layer from left to right, with a projection from its cells to the width of its input."""

    def __init__(self, width: int, cells: int) -> None:
        super().__init__(width, cells, batch_first=True, proj_size=width)

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """(B, T, P) -> (B, T, P)."""
        with warnings.catch_warnings():
            # On the CPU it takes torch's own version, in which bf16 gains nothing.
            warnings.filterwarnings("ignore", "LSTM with projections is not supported with oneDNN")
            if x.device.type == "cpu":
                with torch.autocast("cpu", enabled=False):
                    x, _ = super().forward(x.to(next(self.parameters()).dtype))
            else:
                x, _ = super().forward(x)
        return x


class LSTMs(nn.Module):
    """Layers of LSTMs from left to right; each but the first adds its output to its input."""

    def __init__(self, width: int, cells: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(ProjectedLSTM(width, cells) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)

    def encode(self, x: Tensor, lengths: Tensor | None, positions: Tensor | None) -> Tensor:
        """The last layer's vectors: see `Reader.encode`. Padding is at the end and reaches no vector."""
        x = self.states(x, lengths)[-1]
        return x if positions is None else gather(x, positions)

    def states(self, x: Tensor, lengths: Tensor | None) -> list[Tensor]:
        """The vectors of each layer: see `Reader.states`."""
        states = [x]
        for layer in self.layers:
            out = self.dropout(layer(states[-1]))
            states.append(out if len(states) == 1 else states[-1] + out)
        return states


class DirectionsHead(nn.Module):
    """The output layer of both directions: the token embeddings (V, D / 2) and a bias."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, hidden: Tensor, embeddings: Tensor) -> Tensor:
        """Vectors of one direction (..., D / 2) -> logits (..., V)."""
        return F.linear(hidden, embeddings, self.bias)

    def loss(self, hidden: Tensor, embeddings: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """The sum of the cross-entropies of `targets` (B, K), times `weights` (B, K), at vectors (B, K, D / 2)."""
        return vocabulary_loss(self, hidden, embeddings, targets, weights, sparse=True)
