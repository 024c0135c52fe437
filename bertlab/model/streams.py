"""A batch on a device: see `bertlab.inputs.streams.Batch`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor

from bertlab.recipe.objective import INPUTS

Lengths = Mapping[str, Tensor | None]
"""The lengths (B,) of each stream, None if it has no padding."""


class TensorStream(NamedTuple):
    """B sequences of T tokens."""

    tokens: Tensor
    """(B, T) ids."""
    lengths: Tensor | None = None
    """(B,) tokens that are not padding; None if there is no padding."""


@dataclass(frozen=True)
class TensorBatch:
    """Streams of tokens, and the arrays that losses and formats add."""

    streams: Mapping[str, TensorStream]
    arrays: Mapping[str, Mapping[str, Tensor]]
    format: Mapping[str, Tensor] = field(default_factory=dict)
    """Those with a value for each token, (B, T): the `segments` of pairs."""

    @classmethod
    def of(
        cls,
        tokens: Tensor,
        segments: Tensor | None,
        lengths: Tensor | None,
        arrays: Mapping[str, Mapping[str, Tensor]],
    ) -> TensorBatch:
        """A batch of the stream `INPUTS` alone, perhaps with segments (B, T)."""
        form = {} if segments is None else {"segments": segments}
        return cls({INPUTS: TensorStream(tokens, lengths)}, arrays, form)

    def take(self, rows: Tensor) -> TensorBatch:
        """The sequences number `rows`."""
        streams = {
            name: TensorStream(tokens[rows], None if lengths is None else lengths[rows])
            for name, (tokens, lengths) in self.streams.items()
        }
        arrays = {kind: {name: array[rows] for name, array in added.items()} for kind, added in self.arrays.items()}
        return TensorBatch(streams, arrays, {name: array[rows] for name, array in self.format.items()})

    @property
    def tokens(self) -> Tensor:
        """(B, T) ids of the stream `INPUTS`."""
        return self.streams[INPUTS].tokens

    @property
    def lengths(self) -> Lengths:
        """The lengths of each stream."""
        return {name: stream.lengths for name, stream in self.streams.items()}
