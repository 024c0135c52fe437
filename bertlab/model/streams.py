"""A batch on a device: see `bertlab.inputs.streams.Batch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
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
    """The arrays of each loss, by its kind."""
    format: Mapping[str, Tensor] = field(default_factory=dict)
    """The arrays of a format that have a value for each token, (B, T): the `segments` of pairs."""

    @classmethod
    def of(
        cls,
        tokens: Tensor,
        lengths: Tensor | None = None,
        arrays: Mapping[str, Mapping[str, Tensor]] | None = None,
        **form: Tensor,
    ) -> TensorBatch:
        """A batch of the stream `INPUTS` alone, with the arrays of losses by kind, and those of a format by name."""
        return cls({INPUTS: TensorStream(tokens, lengths)}, arrays or {}, form)

    def map(self, change: Callable[[Tensor], Tensor]) -> TensorBatch:
        """The batch with each tensor changed."""

        def mapped(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {name: change(tensor) for name, tensor in tensors.items()}

        streams = {
            name: TensorStream(change(tokens), None if lengths is None else change(lengths))
            for name, (tokens, lengths) in self.streams.items()
        }
        return TensorBatch(streams, {kind: mapped(added) for kind, added in self.arrays.items()}, mapped(self.format))

    def adding(self, kind: str, **arrays: Tensor) -> TensorBatch:
        """The batch with more arrays of the loss of this kind."""
        return replace(self, arrays={**self.arrays, kind: {**self.arrays[kind], **arrays}})

    def take(self, rows: Tensor) -> TensorBatch:
        """The sequences number `rows`."""
        return self.map(lambda tensor: tensor[rows])

    def to(self, device: torch.device | str) -> TensorBatch:
        """The batch on a device, integers in 64 bits."""
        cuda = torch.device(device).type == "cuda"

        def moved(tensor: Tensor) -> Tensor:
            tensor = (tensor.pin_memory() if cuda else tensor).to(device, non_blocking=cuda)  # nothing waits for it
            return tensor if tensor.is_floating_point() else tensor.long()

        return self.map(moved)

    @property
    def tokens(self) -> Tensor:
        """(B, T) ids of the stream `INPUTS`."""
        return self.streams[INPUTS].tokens

    @property
    def lengths(self) -> Lengths:
        """The lengths of each stream."""
        return {name: stream.lengths for name, stream in self.streams.items()}
