"""Segment pairs (BERT appendix A.2), and the single segments of evaluation."""

from __future__ import annotations

import numpy as np

from bertlab.inputs import keyed
from bertlab.inputs.formats.rows import (
    Flags,
    Offsets,
    Rows,
    Text,
    by_blocks,
    elsewhere,
    follow,
    pieces,
    require_others,
    single,
)


def segment_pairs(text: Text, *, length: int, short: float, copy: int, seed: int | str) -> Rows:
    """The segment pairs of one pass over `text`, rows of at most `length` tokens with their specials.

    A chunk of sentences that reaches the target length is split at a random sentence. In half of the rows the second
    part is replaced by text of another document, and goes back: the next row starts with it. What exceeds the target
    is cut from the longer segment, at its front and back. A chunk of one sentence is split at a random token, so that
    it too is a true pair as often as not. Every token is in the own part of exactly one row, or cut.

    Raises `BadInput` where there is no other document.
    """
    require_others(text)
    pairs = _Pairs(text, length, short, copy, seed)
    return by_blocks(pairs.rows, follow(pairs.next, len(pairs.sentences) - 1, pairs.documents[:-1]))


def single_segments(text: Text, *, length: int) -> Rows:
    """Consecutive sentences of one document until `length` is reached, cut at the back; the next row goes on."""
    sentences, documents = _spans(text, length - 2)

    def after(i: Offsets) -> Offsets:
        return _reach(sentences, documents, i, length - 2)[1]

    rows = follow(after, len(sentences) - 1, documents[:-1])
    return single(sentences[rows], np.minimum(sentences[after(rows)] - sentences[rows], length - 2))


class _Pairs:
    """The pair that would start at each span, for one pass."""

    def __init__(self, text: Text, length: int, short: float, copy: int, seed: int | str) -> None:
        self.whole = length - 3
        self.short = short
        self.sentences, self.documents = _spans(text, self.whole)
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

        other, end = elsewhere(self.documents, document, self._key, i)
        away = self.sentences[other]
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
    return pieces(text, max(2, room // 2), max(1, room // 8))


def _reach(sentences: Offsets, documents: Offsets, i: Offsets, target: Offsets | int) -> tuple[Offsets, Offsets]:
    """The document of each span `i`, and the end of the chunk that holds `target` tokens or the document's rest."""
    document = np.searchsorted(documents, i, side="right") - 1
    end = documents[document + 1]
    stop = np.minimum(np.searchsorted(sentences, sentences[i] + target), end)
    # A lone last token joins the chunk before it.
    return document, np.where(sentences[end] - sentences[stop] == 1, end, stop)
