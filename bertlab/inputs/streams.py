"""Batches as streams of tokens: what formats make of text, and what losses make of that."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from bertlab.arrays import Array, Int32, Int64, UInt8
from bertlab.recipe.objective import INPUTS

Arrays = Mapping[str, Array]

_STEP = 8
"""Trimmed widths are multiples of it: for each new shape the matrix library compiles its kernels anew."""


class Stream(NamedTuple):
    """B sequences of T tokens."""

    tokens: Int32
    """(B, T) ids; [PAD] beyond a sequence's length."""
    lengths: Int32
    """(B,) tokens that are not padding."""


@dataclass(frozen=True)
class _Rows:
    """B sequences: their streams, and arrays whose first axis is B."""

    streams: Mapping[str, Stream]
    """The streams by name: `INPUTS`, and those that losses make."""

    @property
    def tokens(self) -> Int32:
        """(B, T) ids of the stream `INPUTS`, contiguous in `Sequences`, where a loss may change them in place."""
        return self.streams[INPUTS].tokens

    @property
    def lengths(self) -> Int32:
        """(B,) tokens of the stream `INPUTS` that are not padding."""
        return self.streams[INPUTS].lengths

    def rows(self, index: Any) -> Self:
        """The sequences at an `index` of NumPy: a slice, numbers or flags."""

        def at_index(value: Any) -> Any:
            return value[index] if isinstance(value, np.ndarray) and len(value) else value

        return type(self)(**{name: mapped(at_index, value) for name, value in vars(self).items()})


@dataclass(frozen=True)
class Sequences(_Rows):
    """B sequences of text, from which the losses make their inputs and labels, one after the other."""

    streams: dict[str, Stream]
    """The streams by name, as earlier losses have left them; a loss may change their tokens in place."""
    separator_offsets: Int32
    """(B, N) ordinary tokens before each of the N inner [SEP] of the text."""
    ordinary: Int32
    """(B,) ordinary tokens of the text: all but [CLS], [SEP] and [PAD]."""
    sequence_ids: Int64
    """(B,) equal ids mean equal tokens before any loss changes them, as in the `Batch`."""
    epoch: int
    """The one epoch of all B sequences, from 0."""
    format: Arrays = field(default_factory=dict)
    """What the format has added, as in the `Batch`."""
    arrays: dict[str, Arrays] = field(default_factory=dict)
    """What the losses before have added, by their kind."""
    marks: UInt8 = field(default_factory=lambda: np.zeros((0, 0), dtype=np.uint8))
    """(B, T) the linguistic spans that each ordinary token is in, as `text.annotation` marks them; empty if no loss
    reads them."""

    def positions(self, numbers: Int32) -> Int32:
        """The positions (B, K) of the ordinary tokens with these numbers (B, K) in the text."""
        positions = numbers + np.int32(1)  # behind [CLS]
        for column in self.separator_offsets.T:
            positions += numbers >= column[:, None]
        return positions

    def put(self, kind: str, rows: Int64, part: Sequences, pad: int) -> None:
        """Adds what a loss of this kind has made of the `part` of these rows; `sequences` (B,) says which they are."""
        count = len(self.ordinary)
        for name, (tokens, lengths) in part.streams.items():
            before = self.streams.get(name, Stream(np.zeros((count, 0), np.int32), np.zeros(count, np.int32)))
            self.streams[name] = Stream(_put(before.tokens, rows, tokens, pad), _put(before.lengths, rows, lengths))
        self.arrays[kind] = {
            name: _put(np.zeros((count, *array.shape[1:]), array.dtype), rows, array)
            for name, array in {**part.arrays[kind], "sequences": np.ones(len(rows), np.int32)}.items()
        }

    def add(self, kind: str, added: Mapping[str, Any]) -> None:
        """Adds what a loss of this kind returns: its arrays, and streams in place of those of the same name."""
        self.streams.update({name: value for name, value in added.items() if isinstance(value, Stream)})
        self.arrays[kind] = {name: value for name, value in added.items() if not isinstance(value, Stream)}

    def batch(self) -> Batch:
        """The batch of the streams and all arrays."""
        epochs = np.full(len(self.sequence_ids), self.epoch)
        return Batch(self.streams, self.format, self.arrays, self.sequence_ids, epochs)


Transform = Callable[[Sequences], Mapping[str, Any]]
"""Makes the inputs and labels of a loss: arrays and streams by name."""


@dataclass(frozen=True)
class Batch(_Rows):
    """B sequences: streams of tokens, and the arrays that their format and the losses add."""

    format: Arrays
    """What the format adds. In formats of pairs: `segments` (B, T), 0 for the first segment with its specials, 1 for
    the second, 0 for padding; `is_random_next` (B,), 1 if the second segment is from another document, else 0;
    `swapped` (B,), 1 if the segments, which follow each other in the text, are exchanged, 0 if they are not but could
    be, -1 if segments are never exchanged, or if the form of the pair would reveal the order."""
    arrays: Mapping[str, Arrays]
    """What each loss adds, by its kind; `sequences` (B,) is 1 for those that it has, if it has a share of them. If a
    loss adds `weights` (B, K), its arrays of two axes have K slots; the first
    ones are used and have a weight above 0."""
    sequence_ids: Int64
    """(B,) equal ids mean equal tokens before any loss changes them. In the first epoch the id is the offset in the
    text of the first token that the sequence stands for."""
    epochs: Int64
    """(B,) the epoch of each sequence."""

    def trimmed(self) -> Batch:
        """The batch without the slots, and the columns beyond the next `_STEP`, that all its sequences leave empty."""
        streams = {
            name: Stream(_columns(stream.tokens, stream.lengths), stream.lengths)
            for name, stream in self.streams.items()
        }
        form = {
            name: _columns(array, self.lengths) if array.ndim == 2 else array for name, array in self.format.items()
        }
        arrays = dict(self.arrays)
        for kind, added in self.arrays.items():
            if "weights" in added:
                slots = int((added["weights"] > 0).sum(axis=1).max())
                used = {name: array[:, :slots].copy() for name, array in added.items() if array.ndim == 2}
                arrays[kind] = {**added, **used}
        return dataclasses.replace(self, streams=streams, format=form, arrays=arrays)


def _put(array: Array, rows: Int64, part: Array, filling: int = 0) -> Array:
    """An array (B,), (B, T) with a `part` at `rows`, of another width perhaps: `filling` fills the narrower."""
    if array.ndim == 2 and (missing := abs(array.shape[1] - part.shape[1])):
        wider = ((0, 0), (0, missing))
        if array.shape[1] < part.shape[1]:
            array = np.pad(array, wider, constant_values=filling)
        else:
            part = np.pad(part, wider, constant_values=filling)
    array[rows] = part
    return array


def _columns(array: Int32, lengths: Int32) -> Int32:
    """The columns of an array (B, T) that sequences of `lengths` (B,) use, up to the next `_STEP`."""
    return array[:, : -(-int(lengths.max()) // _STEP) * _STEP].copy()


def joined(parts: Sequence[Batch]) -> Batch:
    """The sequences of several batches as one, padded with zeros to the widest."""

    def join(*arrays: Array) -> Array:
        if arrays[0].ndim == 2:
            width = max(array.shape[1] for array in arrays)
            arrays = tuple(np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in arrays)
        return np.concatenate(arrays)

    return Batch(**{name: mapped(join, *(vars(part)[name] for part in parts)) for name in vars(parts[0])})


def mapped(change: Callable[..., Array], value: Any, *others: Any) -> Any:
    """`value`, an array, a stream or a mapping of these by name, with `change` of each of its arrays.

    `change` takes the array at the same place of each of the `others` too.
    """
    if isinstance(value, Mapping):
        return {name: mapped(change, part, *(other[name] for other in others)) for name, part in value.items()}
    return Stream(*map(change, value, *others)) if isinstance(value, Stream) else change(value, *others)
