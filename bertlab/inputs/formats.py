"""How sequences are cut out of documents: segment pairs (BERT appendix A.2) and the single segments of evaluation.

What a row starting at a sentence would hold is a pure function of that sentence's number. It is computed for all
sentences at once; the rows of a pass are those that are met when one follows each row to where the next one starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bertlab.errors import BadInput
from bertlab.inputs import keyed

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
    first_length: npt.NDArray[np.int32]
    second: Offsets
    second_length: npt.NDArray[np.int32]
    """Tokens of the second segment; 0 in a row of one segment."""
    random: Flags
    """Whether the second segment comes from another document."""

    def __len__(self) -> int:
        return len(self.starts)


def segment_pairs(text: Text, *, length: int, short: float, copy: int, seed: int | str) -> Rows:
    """The segment pairs of one pass over `text`, rows of at most `length` tokens with their specials.

    A chunk of sentences that reaches the target length is split at a random sentence. In half of the rows the second
    part is replaced by text of another document, and goes back: the next row starts with it. What exceeds the target
    is cut from the longer segment, at its front and back. A chunk of one sentence is split at a random token, so that
    it too is a true pair as often as not. Every token is in the own part of exactly one row, or cut.

    Raises `BadInput` where there is no other document.
    """
    if len(text.documents) < 3:
        raise BadInput(
            f"the corpus has {len(text.documents) - 1} document to train on: a random second segment comes from "
            "another document, so give more (each file or record is one), or a smaller corpus.heldout"
        )
    pairs = _Pairs(text, length, short, copy, seed)
    starts = _chain(np.concatenate([pairs.next(block) for block in _blocks(pairs.size)]), pairs.documents[:-1])
    return _joined([pairs.rows(starts[low : low + _BLOCK]) for low in range(0, len(starts), _BLOCK)])


def single_segments(text: Text, *, length: int) -> Rows:
    """Consecutive sentences of one document until `length` is reached, cut at the back; the next row goes on."""
    sentences, documents = _spans(text, length - 2)
    after = np.concatenate([_reach(sentences, documents, i, length - 2)[1] for i in _blocks(len(sentences) - 1)])
    starts = _chain(after, documents[:-1])
    held = np.minimum(sentences[after[starts]] - sentences[starts], length - 2)
    return Rows(
        starts=sentences[starts],
        first=sentences[starts],
        first_length=held.astype(np.int32),
        second=np.zeros_like(starts),
        second_length=np.zeros(len(starts), dtype=np.int32),
        random=np.zeros(len(starts), dtype=np.bool_),
    )


class _Pairs:
    """The pair that would start at each span, for one pass."""

    def __init__(self, text: Text, length: int, short: float, copy: int, seed: int | str) -> None:
        self.whole = length - 3
        self.short = short
        self.sentences, self.documents = _spans(text, self.whole)
        self.size = len(self.sentences) - 1
        self._seed, self._copy = seed, copy

    def _key(self, purpose: str) -> int:
        return keyed.key(self._seed, "pairs", purpose, self._copy)

    def _chunk(self, i: Offsets) -> tuple[Offsets, Offsets, Offsets, Offsets, Flags]:
        """Target tokens, document, the chunk's end, the first segment's end, and whether the second is random."""
        cut_short = keyed.uniform(self._key("short"), i) < self.short
        target = np.where(cut_short, 2 + keyed.integers(self.whole - 1, self._key("target"), i), self.whole)
        document, stop = _reach(self.sentences, self.documents, i, target)
        count = stop - i
        split = i + 1 + keyed.integers(np.maximum(count - 1, 1), self._key("split"), i)
        random = keyed.uniform(self._key("random"), i) < 0.5
        # What is put back must not be a lone last token, which no later row could split.
        end = self.documents[document + 1]
        lone = random & (self.sentences[end] - self.sentences[split] == 1)
        split = np.where(lone, np.where(count > 2, split - 1, stop), split)
        return target, document, stop, split, random

    def next(self, i: Offsets) -> Offsets:
        """The span at which the row after the one starting at each span `i` starts."""
        _, _, stop, split, random = self._chunk(i)
        return np.where(random, split, stop)

    def rows(self, i: Offsets) -> Rows:
        """The rows that start at the spans `i`."""
        target, document, stop, split, random = self._chunk(i)
        start = self.sentences[i]
        total = self.sentences[stop] - start
        within = 1 + keyed.integers(np.maximum(total - 1, 1), self._key("within"), i)
        first_length = np.where((stop - i == 1) & ~random, within, self.sentences[split] - start)
        second_length = total - first_length
        second = start + first_length

        # The other document: one of the rest, and a sentence of it.
        other = keyed.integers(len(self.documents) - 2, self._key("document"), i)
        other += other >= document
        begin, end = self.documents[other], self.documents[other + 1]
        away = self.sentences[begin + keyed.integers(end - begin, self._key("sentence"), i)]
        away_length = self.sentences[end] - away

        # A true pair is cut to the target, the longer segment first; a random second segment fills what is left,
        # which is half the row if the first segment is too long by itself.
        over = total > target
        shared = np.minimum(first_length, np.maximum(target - second_length, (target + 1) // 2))
        alone = np.where(first_length < target, first_length, (target + 1) // 2)
        first_kept = np.where(random, alone, np.where(over, shared, first_length))
        second_kept = np.minimum(np.where(random, away_length, second_length), target - first_kept)
        first_front = keyed.integers(first_length - first_kept + 1, self._key("first front"), i)
        second_front = keyed.integers(np.maximum(second_length - second_kept, 0) + 1, self._key("second front"), i)
        return Rows(
            starts=start,
            first=start + first_front,
            first_length=first_kept.astype(np.int32),
            second=np.where(random, away, second + second_front),
            second_length=second_kept.astype(np.int32),
            random=random,
        )


def _spans(text: Text, room: int) -> tuple[Offsets, Offsets]:
    """Sentence and document offsets in which a sentence of more than half the `room` of a row is cut into pieces.

    A row that ends within a sentence loses the rest of it, which would be most of the text where sentences are long.
    The paper calls any contiguous span a sentence, and so are the pieces, of an eighth of the room at most.
    """
    sentences, documents = text.sentences, text.documents
    lengths = np.diff(sentences)
    long = np.flatnonzero(lengths > max(2, room // 2))
    if not len(long):
        return sentences, documents
    pieces = -(-lengths[long] // max(1, room // 8))
    owner = np.repeat(np.arange(len(long)), pieces - 1)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(pieces - 1) - (pieces - 1), pieces - 1) + 1
    cuts = sentences[long][owner] + number * lengths[long][owner] // pieces[owner]
    spans = np.sort(np.concatenate([sentences, cuts]), kind="stable")
    return spans, np.searchsorted(spans, sentences[documents])


def _reach(sentences: Offsets, documents: Offsets, i: Offsets, target: Offsets | int) -> tuple[Offsets, Offsets]:
    """The document of each span `i`, and the end of the chunk that holds `target` tokens or the document's rest."""
    document = np.searchsorted(documents, i, side="right") - 1
    end = documents[document + 1]
    stop = np.minimum(np.searchsorted(sentences, sentences[i] + target), end)
    # A lone last token joins the chunk before it.
    return document, np.where(sentences[end] - sentences[stop] == 1, end, stop)


def _blocks(size: int) -> Iterator[Offsets]:
    for low in range(0, size, _BLOCK):
        yield np.arange(low, min(low + _BLOCK, size))


def _chain(after: Offsets, roots: Offsets) -> Offsets:
    """The numbers met on the way from any of the `roots` by i -> after[i], ascending; `after[i]` exceeds i.

    By doubling: with jumps of 1, 2, 4, ... each round reaches twice as far, however long a document is. The end of a
    document is the start of the next, so that no way needs a stop but the last.
    """
    size = len(after)
    jump = np.append(after, size)
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


def _joined(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    return Rows(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in Rows.__dataclass_fields__})
