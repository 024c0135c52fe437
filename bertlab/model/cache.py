"""What a decoder has computed for the tokens before, so that a step computes its own token alone.

Shapes: B examples, N sequences that are decoded (B, or B times beams), T tokens, H heads, d the size of a head.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor

from bertlab.model.positions import Rotation

AttentionInputs = tuple[Tensor | None, Rotation | None]
"""The bias of a layer's attention scores, (B or 1, heads or 1, T or 1, T), and the rotary angles of its positions."""


class KeyValues(NamedTuple):
    """What attention reads."""

    keys: Tensor
    """(B, H, T, d)."""
    values: Tensor
    """(B, H, T, d)."""


class Cache:
    """Keys and values of sequences that are decoded, in memory for all their tokens."""

    def __init__(self, tokens: int) -> None:
        """The sequences have at most this many tokens."""
        self.tokens, self.size = tokens, 0
        self.stored: Tensor | None = None  # (2, N, H, tokens, d)

    def extended(self, new: KeyValues) -> KeyValues:
        """All keys and values, with those of `new` tokens at the end."""
        if self.stored is None:
            batch, heads, _, width = new.keys.shape
            self.stored = new.keys.new_empty(2, batch, heads, self.tokens, width)
        begin, self.size = self.size, self.size + new.keys.shape[2]
        for part, values in zip(self.stored, new, strict=True):
            part[:, :, begin : self.size] = values
        return KeyValues(*self.stored[..., : self.size, :])

    def take(self, rows: Tensor) -> None:
        """Goes on with the sequences number `rows`."""
        if self.stored is not None:
            self.stored = self.stored[:, rows]


@dataclass
class DecodingState:
    """What a decoder has computed for N sequences after `done` steps."""

    caches: list[Cache]
    """Keys and values of the tokens before, a layer each."""
    attention: list[AttentionInputs]
    """What the attention of each layer has beside the tokens, for as many tokens as may be decoded."""
    memories: list[KeyValues] = field(default_factory=list)
    """Keys and values of the B examples that an encoder has read, a layer each."""
    memory_bias: Tensor | None = None
    """(B, 1, 1, T) the bias that masks their padding."""
    inputs: dict[str, Tensor] = field(default_factory=dict)
    """What a decoder without an encoder keeps of the inputs of the N sequences."""
    done: int = 0

    def take(self, rows: Tensor, examples: Tensor | None = None) -> None:
        """Goes on with the sequences number `rows`, and with the `examples`, which are all if these are None."""
        for cache in self.caches:
            cache.take(rows)
        self.inputs = {name: values[rows] for name, values in self.inputs.items()}
        if examples is not None:
            self.memories = [KeyValues(*(part[examples] for part in memory)) for memory in self.memories]
            self.memory_bias = None if self.memory_bias is None else self.memory_bias[examples]
