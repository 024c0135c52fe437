"""Where the tokens of sequences lie in a text, and how the sequences of an epoch are found.

The sequence that would start at a sentence is a pure function of the number of that sentence. It is computed for all
sentences at once; an epoch consists of those that are met by going from each sequence to where the next one starts.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from bertlab import keyed
from bertlab.arrays import Bool, Int8, Int32, Int64
from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.text.tokens import Part

Key = Callable[..., int]

_BLOCK = 1 << 19
"""Sentences or sequences that are computed together, which bounds the memory."""
_WIDER = (0, 0, 0, 0, 1, 4, 16, 1 << 30)
"""By how much each attempt to draw widens the range of forms on both sides."""


@dataclass(frozen=True)
class Layout:
    """Where the tokens of N sequences lie: [CLS] first [SEP] second [SEP], or [CLS] first [SEP]."""

    starts: Int64
    """Offset of the first token that the sequence stands for, its name within an epoch; ascending."""
    first: Int64
    """Offset of the first segment's first token."""
    first_length: Int32
    second: Int64
    second_length: Int32
    """Tokens of the second segment; 0 in a sequence of one segment."""
    random: Bool
    """Whether the second segment comes from another document."""
    order: Int8
    """1 if the segments are exchanged, 0 if they are not but could be, -1 otherwise."""
    breaks: Int64 = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Offsets of tokens, ascending, before which a [SEP] stands within a first segment that crosses them."""

    def __len__(self) -> int:
        return len(self.starts)

    def problem(self, tokens: int, length: int) -> str:
        """What is wrong with it for a text of so many `tokens` and sequences of at most `length`; empty if nothing."""
        for name, array in vars(self).items():
            kind = "b" if name == "random" else "i"
            if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind != kind:
                of = f"of shape {array.shape}, {array.dtype}" if isinstance(array, np.ndarray) else shown(array)
                return f"makes {name} {of}: give an array of {'bool' if kind == 'b' else 'int64'}, (N,)"
            if name != "breaks" and len(array) != len(self.starts):
                return f"makes {len(array):,} {name} for {len(self.starts):,} starts: give one for each sequence"
        if not len(self):
            return "makes no sequence: make one at least"
        if (longest := int(self.lengths.max())) > length:
            return f"makes a sequence of {longest} tokens with its specials: at most {length}"
        first, second = (begin.astype(np.int64) for begin in (self.first, self.second))
        ends = [
            ("starts", self.starts, self.starts + 1, 1),
            ("first", first, first + self.first_length, 1),
            ("second", second, second + self.second_length, 0),
        ]
        for name, begin, end, least in ends:
            used = (end > begin) | bool(least)
            wrong = (end - begin < least) | (used & ((begin < 0) | (end > tokens)))
            if wrong.any():
                place = int(wrong.argmax())
                span = f"{name} of sequence {place} from token {begin[place]} up to {end[place]}"
                return f"puts {span}: the text has tokens 0 to {tokens - 1}, and a sequence has one at least"
        breaks = self.breaks
        if (np.diff(self.starts) < 0).any() or (np.diff(breaks) <= 0).any():
            return "makes starts or breaks that do not ascend: give them in the order of the text"
        if len(breaks) and (breaks[0] < 1 or breaks[-1] >= tokens or (self.second_length > 0).any()):
            return "makes breaks outside of the text, or beside second segments: give them within first segments"
        if (abs(self.order) > 1).any():
            return f"makes an order of {self.order[abs(self.order) > 1][0]}: give 1, 0 or -1"
        return ""

    @property
    def lengths(self) -> Int32:
        """Tokens of each sequence, specials included, (N,)."""
        inner = self._breaks_until(self.first + self.first_length, "left") - self._breaks_until(self.first, "right")
        specials = 2 + (self.second_length > 0) + inner
        return (self.first_length + self.second_length + specials).astype(np.int32)

    def spans(self, chosen: Int64) -> tuple[Int64, Int32]:
        """Where each span of the sequences number `chosen` (B,) begins, (B, S), and the ordinary tokens before each
        [SEP] between them, (B, S - 1): in a sequence of fewer spans all of its tokens."""
        first, first_length = self.first.take(chosen), self.first_length.take(chosen)
        if self.second_length.take(chosen).any():
            return np.array([first, self.second.take(chosen)]).T, first_length[:, None]
        if not len(self.breaks):
            return first[:, None], first_length[:, None][:, 1:]
        low, high = self._breaks_until(first, "right"), self._breaks_until(first + first_length, "left")
        number = low[:, None] + np.arange((high - low).max())
        begins = self.breaks.take(number, mode="clip")
        before = np.where(number < high[:, None], begins - first[:, None], first_length[:, None])
        return np.concatenate([first[:, None], begins], axis=1), before.astype(np.int32)

    def _breaks_until(self, offsets: Int64, side: Any) -> Int64:
        return np.searchsorted(self.breaks, offsets, side=side)


def consecutive(sentences: Int64, after: Callable[[Int64], Int64], most: int) -> Layout:
    """Sequences of one segment each, as `follow` finds them: up to the next one, but at most `most` tokens."""
    numbers = follow(after, len(sentences) - 1)
    starts = sentences[numbers]
    counts = np.minimum(sentences[after(numbers)] - starts, most).astype(np.int32)
    zeros, order = np.zeros_like(starts), np.full(len(starts), -1, dtype=np.int8)
    return Layout(starts, starts, counts, zeros, zeros.astype(np.int32), zeros.astype(np.bool_), order)


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
    order, found = np.argsort(values), np.empty(len(values), dtype=np.int64)
    found[order] = np.searchsorted(offsets, values[order], side)
    return found


class Endless(ValueError):
    """A function of `follow` that does not go on."""


def follow(after: Callable[[Int64], Int64], size: int) -> Int64:
    """The numbers 0, after(0), after(after(0)), ... below `size`. `after` maps many numbers at once to larger ones.

    Raises `Endless` if it does not.
    """
    steps = np.empty(size, dtype=np.int64)
    for low in range(0, size, _BLOCK):
        block = np.arange(low, min(low + _BLOCK, size))
        steps[block] = after(block)
        if (still := steps[block] <= block).any():
            place = low + int(still.argmax())
            raise Endless(f"goes from sentence {place} to {steps[place]}: let each sequence end behind where it starts")
    jumps, met, number = steps.data, bytearray(size), 0
    while number < size:
        met[number] = 1
        number = jumps[number]
    return np.flatnonzero(np.frombuffer(met, dtype=np.bool_))


def by_blocks(make: Callable[[Int64], Layout], starts: Int64) -> Layout:
    """The layout that `make` returns for `starts`, computed in blocks."""
    parts = [vars(make(starts[low : low + _BLOCK])) for low in range(0, len(starts), _BLOCK)]
    return Layout(*(np.concatenate([part.pop(each.name) for part in parts]) for each in fields(Layout)))


def require_others(text: Part) -> None:
    """Raises `BadInput` if no other document can provide a random second segment."""
    if len(text.documents) < 3:
        few = f"the corpus has {len(text.documents) - 1} document to train on"
        why = "a random second segment comes from another document"
        raise BadInput(f"{few}: {why}, so give more (each file or record is one), or a smaller corpus.heldout")


class FormIndex:
    """Sentences of all documents by their form, a number, to draw one from another document with a form in a range."""

    def __init__(self, forms: Int64, documents: Int64) -> None:
        """`forms` (N,) of the sentences, and the offsets of documents in them (D + 1,)."""
        self._documents = documents
        self._ends = np.append(0, np.cumsum(np.bincount(forms)))
        # A stable sort is a radix sort if 16 bits hold the forms.
        order = np.argsort(forms.astype(np.min_scalar_type(len(self._ends))), kind="stable")
        self._order = order.astype(np.min_scalar_type(len(order)))  # mostly half as large

    def draw(self, forms: tuple[Int64, Int64], bounds: tuple[Any, Any], document: Int64, key: Key, i: Int64) -> Int64:
        """For each sequence `i` of `document`, a sentence of another document, uniform over the range of forms. If that
        (inclusive) has none, it grows within `bounds`; if these have none either, the sentence is uniform over another
        document that is uniform over all others."""
        found, left = np.zeros_like(i), np.arange(len(i))
        least, most = (np.broadcast_to(bound, i.shape) for bound in bounds)
        last = len(self._ends) - 1
        for attempt, wider in enumerate(_WIDER):
            begin = self._ends[np.clip(np.maximum(forms[0][left] - wider, least[left]), 0, last)]
            count = self._ends[np.clip(np.minimum(forms[1][left] + wider, most[left]) + 1, 0, last)] - begin
            place = begin + keyed.integers(np.maximum(count, 1), key("sentence", attempt), i[left])
            sentence = self._order[np.minimum(place, len(self._order) - 1)]
            home = document[left]
            away = (sentence < self._documents[home]) | (sentence >= self._documents[home + 1])
            away &= count > 0
            found[left[away]] = sentence[away]
            left = left[~away]
            if not len(left):
                return found
        other = keyed.integers(len(self._documents) - 2, key("document"), i[left])
        other += other >= document[left]
        size = self._documents[other + 1] - self._documents[other]
        found[left] = self._documents[other] + keyed.integers(size, key("any"), i[left])
        return found
