"""Where the tokens of sequences lie in a text, and how the sequences of an epoch are found.

The sequence that would start at a sentence is a pure function of the number of that sentence. It is computed for all
sentences at once; an epoch consists of those that are met by going from each sequence to where the next one starts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from bertlab.arrays import Array, Bool, Int32, Int64
from bertlab.inputs.streams import Sequences, Stream
from bertlab.inputs.windows import Windows
from bertlab.recipe.objective import INPUTS
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import Part

KeyOf = Callable[..., int]

BLOCK = 1 << 19
"""Sentences or sequences that are computed together, which bounds the memory."""


class Spans(NamedTuple):
    """The S spans of text of B sequences."""

    begins: Int64
    """(B, S) where each begins in the text."""
    separator_offsets: Int32
    """(B, S - 1) ordinary tokens before each [SEP] between two spans; in a sequence of fewer spans all of them."""
    ordinary: Int32
    """(B,) ordinary tokens: all but specials and padding."""

    @property
    def separators(self) -> Int32:
        """(B, S - 1) the position of each of these [SEP]; in a sequence of fewer spans its end."""
        separators: Int32 = self.separator_offsets + np.arange(1, self.separator_offsets.shape[1] + 1, dtype=np.int32)
        return separators


@dataclass(frozen=True)
class Layout:
    """The places of the tokens of N sequences of one segment: [CLS] text [SEP]."""

    starts: Int64
    """Offset of the first token that the sequence stands for, its name within an epoch; ascending."""
    first: Int64
    """Offset of the first segment's first token."""
    first_length: Int32

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Int32:
        """(N,) tokens of each sequence, specials included."""
        return (self.first_length + 2).astype(np.int32)

    def spans(self, chosen: Int64) -> Spans:
        """The spans of text of the sequences number `chosen` (B,), in each of which its tokens follow each other."""
        length = self.first_length.take(chosen)
        return Spans(self.first.take(chosen)[:, None], length[:, None][:, 1:], length)

    def sequences(
        self, chosen: Int64, text: Windows, tokenizer: TrainedTokenizer, sequence_ids: Int64, epoch: int
    ) -> Sequences:
        """The sequences number `chosen` (B,) of an epoch, of tokens gathered from `text`, with special tokens."""
        begins, separator_offsets, ordinary = spans = self.spans(chosen)
        lengths = ordinary + 2
        for column in separator_offsets.T:
            lengths += column < ordinary
        separators = spans.separators

        ids, behind = text.joined(begins, separators)
        beyond = text.behind.take(lengths - 1, axis=0)
        ids[:, 0] = tokenizer.cls
        ids ^= (ids ^ tokenizer.pad) & beyond
        tokens = ids.astype(np.int32)
        ends = np.minimum(np.append(separators, lengths[:, None], axis=1), lengths[:, None] - 1)
        tokens.reshape(-1)[ends + np.arange(0, tokens.size, tokens.shape[1])[:, None]] = tokenizer.sep
        streams, arrays = {INPUTS: Stream(tokens, lengths)}, self.arrays(chosen, behind & ~beyond)
        return Sequences(streams, separator_offsets, ordinary, sequence_ids, epoch, arrays)

    def arrays(self, chosen: Int64, last: Array) -> Mapping[str, Int32]:
        """What it adds to a batch of the sequences number `chosen` (B,); `last` (B, T) has all bits of the columns of
        their last spans."""
        return {}

    def gather(self, chosen: Int64, values: Windows) -> Array:
        """The values (B, T) of the ordinary tokens of the sequences number `chosen` (B,); any values elsewhere."""
        spans = self.spans(chosen)
        return values.joined(spans.begins, spans.separators)[0]


@dataclass(frozen=True)
class PackedLayout(Layout):
    """Sequences of one segment that may go on in the next document, behind a [SEP]."""

    breaks: Int64
    """Int64 of tokens, ascending, before which a [SEP] stands within a segment that crosses them."""

    @property
    def lengths(self) -> Int32:
        """(N,) tokens of each sequence, specials included."""
        inner = self._breaks_until(self.first + self.first_length, "left") - self._breaks_until(self.first, "right")
        return (self.first_length + 2 + inner).astype(np.int32)

    def spans(self, chosen: Int64) -> Spans:
        """The parts of each segment between breaks."""
        first, length = self.first.take(chosen), self.first_length.take(chosen)
        low, high = self._breaks_until(first, "right"), self._breaks_until(first + length, "left")
        number = low[:, None] + np.arange((high - low).max())
        begins = self.breaks.take(number, mode="clip")
        offsets = np.where(number < high[:, None], begins - first[:, None], length[:, None])
        return Spans(np.concatenate([first[:, None], begins], axis=1), offsets.astype(np.int32), length)

    def _breaks_until(self, offsets: Int64, side: Any) -> Int64:
        return np.searchsorted(self.breaks, offsets, side=side)


def consecutive(sentences: Int64, after: Callable[[Int64], Int64], most: int) -> Layout:
    """Sequences of one segment each, as `follow` finds them: up to the next one, but at most `most` tokens."""
    numbers = follow(after, len(sentences) - 1)
    starts = sentences[numbers]
    return Layout(starts, starts, np.minimum(sentences[after(numbers)] - starts, most).astype(np.int32))


def pieces(text: Part, longest: int, piece: int) -> tuple[Int64, Int64]:
    """Sentence and document offsets in which a sentence of more than `longest` tokens is cut into even pieces of at
    most `piece` tokens; all that follows treats these as sentences."""
    sentences, documents = text.sentences, text.documents
    lengths = np.diff(sentences)
    long = np.flatnonzero(lengths > longest)
    if not len(long):
        return sentences, documents
    parts = -(-lengths[long] // piece)
    owner = np.repeat(np.arange(len(long)), parts - 1)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(parts - 1) - (parts - 1), parts - 1) + 1
    cuts = sentences[long][owner] + number * lengths[long][owner] // parts[owner]
    spans = np.sort(np.concatenate([sentences, cuts]), kind="stable")
    return spans, np.searchsorted(spans, sentences[documents])


def natural(text: Part, spans: Int64) -> Bool:
    """Which of the offsets that `pieces` returns are sentence boundaries, and not cuts within a sentence."""
    flags = np.zeros(len(spans), dtype=np.bool_)
    flags[np.searchsorted(spans, text.sentences)] = True
    return flags


def places_of(offsets: Int64, values: Int64, side: Literal["left", "right"] = "left") -> Int64:
    """`np.searchsorted(offsets, values, side)`, which searches a large array six times as fast for sorted values."""
    order, places = np.argsort(values), np.empty(len(values), dtype=np.int64)
    places[order] = np.searchsorted(offsets, values[order], side)
    return places


def follow(after: Callable[[Int64], Int64], size: int) -> Int64:
    """The numbers 0, after(0), after(after(0)), ... below `size`. `after` maps many numbers at once to larger ones.

    Raises `ValueError` if it does not.
    """
    steps = np.empty(size, dtype=np.int64)
    for low in range(0, size, BLOCK):
        block = np.arange(low, min(low + BLOCK, size))
        steps[block] = after(block)
        if (still := steps[block] <= block).any():
            at = low + int(still.argmax())
            raise ValueError(f"goes from sentence {at} to {steps[at]}: let each sequence end behind where it starts")
    jumps, met, number = steps.data, bytearray(size), 0
    while number < size:
        met[number] = 1
        number = jumps[number]
    return np.flatnonzero(np.frombuffer(met, dtype=np.bool_))
