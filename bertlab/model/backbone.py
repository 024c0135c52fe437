"""The protocol of a backbone: it embeds streams of tokens, encodes them, and gives vectors where they are read.

Shapes: B batch, T tokens, K positions of a sequence that are read, D hidden, V vocabulary, E embeddings.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Self, cast

import torch
from torch import Tensor, nn

from bertlab.errors import BadInput
from bertlab.model.cache import DecodingState
from bertlab.model.layers import Norm
from bertlab.model.streams import Lengths, TensorBatch
from bertlab.recipe.objective import INPUTS, Decoded

ReadAt = Tensor | Decoded | None
"""Where vectors are read: positions (B, K) of the stream `INPUTS`, what a decoder gives, or None for [CLS]."""


class Backbone(nn.Module, ABC):
    """What turns tokens into vectors. With `causal`, each token sees only itself and those before it."""

    decodes: ClassVar[bool] = False
    """Whether it has a decoder: `read` takes a `Decoded`, and `begin` and `step` decode token after token."""

    def __init__(self, hidden_size: int, num_layers: int, max_length: int, causal: bool) -> None:
        """The backbone reads sequences of at most `max_length` tokens."""
        super().__init__()
        self.hidden_size, self.num_layers, self.max_length, self.causal = hidden_size, num_layers, max_length, causal

    @abstractmethod
    def embed(self, batch: TensorBatch) -> dict[str, Tensor]:
        """The embeddings (B, T, D) of each stream of a batch that it reads."""

    @abstractmethod
    def encode(self, x: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """The last layer's vectors of the embeddings `x` (B, T, D): (B, T, D), or (B, K, D) only at `positions` (B, K).

        Padding begins at `lengths` (B,); None if there is none.
        """

    @abstractmethod
    def hidden_states(self, batch: TensorBatch) -> list[Tensor]:
        """The vectors (B, T, D) of the stream `INPUTS`: its embeddings, and what each layer makes of them."""

    @property
    @abstractmethod
    def output_embeddings(self) -> Tensor:
        """The token embeddings (V, E), the output matrix of a language model."""

    @property
    def output_bias(self) -> Tensor | None:
        """What is added to the logits (V,) of what is decoded; None for nothing."""
        return None

    @property
    @abstractmethod
    def levels(self) -> list[nn.Module]:
        """The embeddings and each layer, lowest first, which together have all its parameters."""

    @property
    def norms(self) -> list[Norm]:
        """The normalisations of all levels, whose gains and biases adapters train."""
        return [module for module in self.modules() if isinstance(module, Norm)]

    def share_embeddings(self, other: "Backbone") -> None:
        """Takes the token and position embeddings of another backbone for its own. Raises `BadInput` if it cannot."""
        raise BadInput(f"{type(self).__name__} shares no embeddings with another model: give none")

    def spell(self, pieces: Sequence[str]) -> None:
        """Called with the entries of the vocabulary, in the order of their ids, before the first batch: embeddings may
        come from their characters."""

    @contextmanager
    def attending(self, causal: bool) -> Iterator[None]:
        """Lets each token see only itself and those before it within the context, or not."""
        before, self.causal = self.causal, causal
        try:
            yield
        finally:
            self.causal = before

    def train(self, mode: bool = True) -> Self:
        """Sets the mode; a backbone without trained weights is always in evaluation mode: it has no dropout."""
        return super().train(mode and any(value.requires_grad for value in self.parameters()))

    def forward(self, batch: TensorBatch, positions: Tensor | None = None) -> Tensor:
        """The last layer's vectors of the stream `INPUTS`: (B, T, D), or (B, K, D) only at `positions` (B, K)."""
        return self.encode(self.embed(batch)[INPUTS], batch.lengths[INPUTS], positions)

    def read(
        self, embedded: Mapping[str, Tensor], lengths: Lengths, read_at: Mapping[str, ReadAt]
    ) -> dict[str, Tensor]:
        """The last layer's vectors where each name reads them: (B, K, D) at positions (B, K), (B, D) at [CLS] for None.

        Raises `BadInput` for what a decoder reads.
        """
        if any(isinstance(at, Decoded) for at in read_at.values()):
            raise self._without_decoder()
        of_inputs = cast(Mapping[str, Tensor | None], read_at)
        positions = [at for at in of_inputs.values() if at is not None]
        first = len(positions) < len(of_inputs)
        if first:  # [CLS] is position 0
            positions = [embedded[INPUTS].new_zeros((len(embedded[INPUTS]), 1), dtype=torch.long), *positions]
        x = self.encode(embedded[INPUTS], lengths[INPUTS], torch.cat(positions, 1))  # (B, R, D)
        vectors, end = {}, int(first)
        for name, at in of_inputs.items():
            begin, end = end, end + (0 if at is None else at.shape[1])
            vectors[name] = x[:, 0] if at is None else x[:, begin:end]
        return vectors

    def begin(self, batch: TensorBatch, steps: int) -> DecodingState:
        """Reads the stream `INPUTS` of B sequences, for which at most this many tokens are decoded. Raises `BadInput`
        without a decoder."""
        raise self._without_decoder()

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """The vectors (N, D) that predict the token behind the `tokens` (N,), in the first step behind the token that
        begins; the state goes on."""
        raise self._without_decoder()

    def _without_decoder(self) -> BadInput:
        return BadInput(f"{type(self).__name__} has no decoder, which a loss of the objective reads: leave it out")


class BackboneWrapper(Backbone, ABC):
    """A backbone around another one, whose embeddings, levels and hidden states it has; a subclass encodes."""

    def __init__(self, encoder: Backbone) -> None:
        super().__init__(encoder.hidden_size, encoder.num_layers, encoder.max_length, encoder.causal)
        self.encoder = encoder

    @property
    def levels(self) -> list[nn.Module]:
        """The levels of the inner backbone."""
        return self.encoder.levels

    @property
    def output_embeddings(self) -> Tensor:
        """The token embeddings (V, E) of the inner backbone."""
        return self.encoder.output_embeddings

    def embed(self, batch: TensorBatch) -> dict[str, Tensor]:
        """The embeddings of the inner backbone."""
        return self.encoder.embed(batch)

    def hidden_states(self, batch: TensorBatch) -> list[Tensor]:
        """The vectors (B, T, D) of the embeddings and of each layer of the inner backbone."""
        return self.encoder.hidden_states(batch)
