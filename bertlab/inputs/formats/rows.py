"""Rows: where in a text the tokens of each sequence lie, and how the rows of a pass are found.

What a row starting at a sentence would hold is a pure function of that sentence's number. It is computed for all
sentences at once; the rows of a pass are those that are met when one follows each row to where the next one starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bertlab import keyed
from bertlab.errors import BadInput

Integers = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_BLOCK = 1 << 19
"""Sentences that are looked at together, which bounds the memory for what is computed about them."""


class Text(Protocol):
    """Tokenised documents: the ids, where each sentence starts in them, and each document in the sentences."""

    @property
    def tokens(self) -> npt.NDArray[Any]:
        """Ids, one after the other."""

    @property
    def sentences(self) -> Offsets:
        """Offsets into the tokens, (sentences + 1,)."""

    @property
    def documents(self) -> Offsets:
        """Offsets into the sentences, (documents + 1,)."""


@dataclass(frozen=True)
class Rows:
    """Where the tokens of R rows lie. A row is [CLS] first [SEP] second [SEP], or [CLS] first [SEP]."""

    starts: Offsets
    """Offset of the first token that the row stands for, its name within a pass; ascending."""
    first: Offsets
    """Offset of the first segment's first token."""
    first_length: Integers
    second: Offsets
    second_length: Integers
    """Tokens of the second segment; 0 in a row of one segment."""
    random: Flags
    """Whether the second segment comes from another document."""
    order: npt.NDArray[np.int8]
    """0 where the segments stand as in the text and could as well be exchanged, 1 where they are; -1 elsewhere."""
    breaks: Offsets = field(default_factory=lambda: np.zeros(0, np.int64))
    """Offsets of tokens, ascending, before which a [SEP] stands within a first segment that goes across them."""

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Integers:
        """Tokens of each row, specials included, (R,)."""
        inner = self._breaks_until(self.first + self.first_length, "left") - self._breaks_until(self.first, "right")
        specials = 2 + (self.second_length > 0) + inner
        return (self.first_length + self.second_length + specials).astype(np.int32)

    def spans(self, chosen: Offsets) -> tuple[Offsets, Integers]:
        """The rows number `chosen` (B,) as S spans with [SEP] between them: where each begins, (B, S), and the tokens
        before each [SEP], (B, S - 1), which in a row of fewer spans are all of its tokens.
        """
        first, first_length = self.first.take(chosen), self.first_length.take(chosen)
        if not len(self.breaks):
            if not self._paired:
                return first[:, None], first_length[:, None][:, 1:]
            return np.array([first, self.second.take(chosen)]).T, first_length[:, None]
        low, high = self._breaks_until(first, "right"), self._breaks_until(first + first_length, "left")
        number = low[:, None] + np.arange((high - low).max())
        begins = self.breaks.take(number, mode="clip")
        before = np.where(number < high[:, None], begins - first[:, None], first_length[:, None])
        return np.concatenate([first[:, None], begins], axis=1), before.astype(np.int32)

    @cached_property
    def _paired(self) -> bool:
        return bool(self.second_length.any())

    def _breaks_until(self, offsets: Offsets, side: Any) -> Offsets:
        return np.searchsorted(self.breaks, offsets, side=side)


def single(starts: Offsets, lengths: Offsets, breaks: Offsets | None = None) -> Rows:
    """Rows of one segment, of so many tokens."""
    zeros = np.zeros(len(starts), dtype=np.int64)
    return Rows(
        starts=starts,
        first=starts,
        first_length=lengths.astype(np.int32),
        second=zeros,
        second_length=zeros.astype(np.int32),
        random=zeros.astype(np.bool_),
        order=unordered(len(starts)),
        breaks=zeros[:0] if breaks is None else breaks,
    )


def unordered(size: int) -> npt.NDArray[np.int8]:
    """The `order` of `size` rows none of which could be exchanged."""
    return np.full(size, -1, dtype=np.int8)


def pieces(text: Text, longest: int, piece: int) -> tuple[Offsets, Offsets]:
    """Sentence and document offsets in which a sentence of more than `longest` tokens is cut into even pieces.

    A piece has `piece` tokens at most, and is a sentence to all that follows.
    """
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


def natural(text: Text, spans: Offsets) -> Flags:
    """Which of the offsets of `pieces` are boundaries of sentences and not cuts within one."""
    flags = np.zeros(len(spans), dtype=np.bool_)
    flags[np.searchsorted(spans, text.sentences) if len(spans) > len(text.sentences) else ...] = True
    return flags


def follow(after: Callable[[Offsets], Offsets], size: int, roots: Offsets) -> Offsets:
    """The numbers met on the way from any of the `roots` by i -> after(i), ascending; below `size`, which ends the way.

    `after` takes many numbers at once and gives a larger one for each. By doubling: with jumps of 1, 2, 4, ... each
    round reaches twice as far, however long a document is. The end of a document is the start of the next, so that no
    way needs a stop but the last.
    """
    jump = np.append(np.concatenate([after(block) for block in _blocks(size)]), size)
    reached = np.zeros(size + 1, dtype=np.bool_)
    reached[roots] = True
    count = 0
    met = np.flatnonzero(reached)
    while len(met) > count:
        count = len(met)
        reached[jump[met]] = True
        for low in range(0, size, _BLOCK):  # in place: a block only reads what is not yet replaced
            jump[low : low + _BLOCK] = jump[jump[low : low + _BLOCK]]
        met = np.flatnonzero(reached)
    return met[met < size]


def by_blocks(make: Callable[[Offsets], Rows], starts: Offsets) -> Rows:
    """The rows that `make` gives for `starts`, made in blocks."""
    parts = [make(starts[low : low + _BLOCK]) for low in range(0, len(starts), _BLOCK)]
    if len(parts) == 1:
        return parts[0]
    return Rows(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in Rows.__dataclass_fields__})


def _blocks(size: int) -> Iterator[Offsets]:
    for low in range(0, size, _BLOCK):
        yield np.arange(low, min(low + _BLOCK, size))


def require_others(text: Text) -> None:
    """Raises `BadInput` where there is no other document for a random second segment to come from."""
    if len(text.documents) < 3:
        raise BadInput(
            f"the corpus has {len(text.documents) - 1} document to train on: a random second segment comes from "
            "another document, so give more (each file or record is one), or a smaller corpus.heldout"
        )


_WIDER = (0, 0, 0, 0, 1, 4, 16, 1 << 30)
"""By how many the range of forms is wider on each side, try after try, for one of another document."""


class Alike:
    """Items of documents by their form, a number, to draw one of another document whose form is in a range."""

    def __init__(self, forms: Offsets, documents: Offsets) -> None:
        """`forms` (N,) of the items, and the offsets of documents in these (D + 1,)."""
        self._documents = documents
        self._ends = np.append(0, np.cumsum(np.bincount(forms)))
        # A stable sort is by radix where 16 bits hold the forms.
        self._order = np.argsort(forms.astype(np.min_scalar_type(len(self._ends))), kind="stable")

    def draw(
        self,
        forms: tuple[Offsets, Offsets],
        bounds: tuple[Offsets | int, Offsets | int],
        document: Offsets,
        key: Callable[..., int],
        i: Offsets,
    ) -> Offsets:
        """For each row `i`, of `document`, an item of another one, uniform over those of forms from low to high.

        Where none is found the range grows within `bounds`; beyond these it is any item of any other document.
        """
        found, left = np.zeros_like(i), np.arange(len(i))
        least, most = (np.broadcast_to(bound, i.shape) for bound in bounds)
        last = len(self._ends) - 1
        for attempt, wider in enumerate(_WIDER):
            begin = self._ends[np.clip(np.maximum(forms[0][left] - wider, least[left]), 0, last)]
            count = self._ends[np.clip(np.minimum(forms[1][left] + wider, most[left]) + 1, 0, last)] - begin
            place = begin + keyed.integers(np.maximum(count, 1), key("sentence", attempt), i[left])
            item = self._order[np.minimum(place, len(self._order) - 1)]
            home = document[left]
            away = (item < self._documents[home]) | (item >= self._documents[home + 1])
            away &= count > 0
            found[left[away]] = item[away]
            left = left[~away]
            if not len(left):
                return found
        other = keyed.integers(len(self._documents) - 2, key("document"), i[left])
        other += other >= document[left]
        size = self._documents[other + 1] - self._documents[other]
        found[left] = self._documents[other] + keyed.integers(size, key("any"), i[left])
        return found
