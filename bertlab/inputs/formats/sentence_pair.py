"""Sentence pairs: each segment is one natural sentence (RoBERTa section 4.2)."""

from __future__ import annotations

import numpy as np

from bertlab.inputs import keyed
from bertlab.inputs.formats.rows import (
    Flags,
    Offsets,
    Rows,
    Text,
    by_blocks,
    follow,
    natural,
    pieces,
    require_others,
)

_TRUE = np.array([0.0, 0.0, 2 / 3, 1.0, 0.5])
"""Chance that a row is a true pair, by the sentences that its document has left (4 or more alike). A last sentence that
is left alone can be none; these make up for it, so that half of a document's rows are true pairs in expectation."""

_AROUND = (0, 0, 0, 0, 8, 64, 4096, 1 << 60)
"""Sentences next in form that are drawn from as well, from try to try, for one of another document."""


def sentence_pairs(text: Text, *, length: int, copy: int, seed: int | str) -> Rows:
    """The sentence pairs of one pass over `text`, rows of at most `length` tokens with their specials.

    A sentence is paired with the one that follows it, and the next row starts behind both; or with a sentence of
    another document, and the next row starts with the one that follows. Half of the rows are true pairs: `_TRUE`. A
    sentence longer than half a row is cut into even pieces, each a sentence of its own.

    True and random pairs have the same form, so that only their words tell them apart: the sentence of another document
    follows one that is as long as the first, and cut at the same ends. The only sentence of a document is split at a
    random token; in a random pair the back of another that is as long takes the place of its own, which is lost. Every
    other token is in the own part of exactly one row.

    Raises `BadInput` where there is no other document.
    """
    require_others(text)
    pairs = _Pairs(text, length, copy, seed)
    return by_blocks(pairs.rows, follow(pairs.next, len(pairs.sentences) - 1, pairs.documents[:-1]))


class _Pairs:
    """The pair that would start at each sentence, for one pass."""

    def __init__(self, text: Text, length: int, copy: int, seed: int | str) -> None:
        half = (length - 3) // 2
        self.sentences, self.documents = pieces(text, half, half)
        self._seed, self._copy = seed, copy
        # The form of a sentence: its tokens, and at which of its ends it was cut. Those without a next one come last.
        whole = natural(text, self.sentences)
        form = np.diff(self.sentences) + (half + 1) * (2 * whole[:-1] + whole[1:])
        self._forms = 4 * (half + 1)
        self._form = form.astype(np.int32)
        form[self.documents[1:] - 1] += self._forms
        self._order = np.argsort(form, kind="stable")
        self._sorted = form[self._order]

    def _key(self, *purpose: int | str) -> int:
        return keyed.key(self._seed, "sentence pairs", *purpose, self._copy)

    def _draw(self, i: Offsets) -> tuple[Offsets, Flags, Flags]:
        """The document of each sentence, whether it is the only one of it, and whether a true pair starts there."""
        document = np.searchsorted(self.documents, i, side="right") - 1
        end = self.documents[document + 1]
        only = end - self.documents[document] == 1
        chance = np.where(only, 0.5, _TRUE[np.minimum(end - i, 4)])
        return document, only, keyed.uniform(self._key("true"), i) < chance

    def next(self, i: Offsets) -> Offsets:
        """The sentence at which the row after the one starting at each sentence `i` starts."""
        _, only, true = self._draw(i)
        return np.where(true & ~only, i + 2, i + 1)

    def rows(self, i: Offsets) -> Rows:
        """The rows that start at the sentences `i`."""
        document, only, true = self._draw(i)
        start, end = self.sentences[i], self.sentences[i + 1]
        within = 1 + keyed.integers(np.maximum(end - start - 1, 1), self._key("within"), i)
        like, random = i.copy(), np.flatnonzero(~true)
        like[random] = self._like(i[random], document[random], only[random])
        # The sentence after the one of that form; of one that is split, the back.
        second = np.minimum(np.where(only, like, like + 1), len(self.sentences) - 2)
        behind = self.sentences[second + 1]
        second_length = behind - self.sentences[second]
        second_length = np.where(only, np.minimum(end - start - within, second_length), second_length)
        return Rows(
            starts=start,
            first=start,
            first_length=np.where(only, within, end - start).astype(np.int32),
            second=behind - second_length,
            second_length=second_length.astype(np.int32),
            random=~true,
        )

    def _like(self, i: Offsets, document: Offsets, only: Flags) -> Offsets:
        """For each sentence `i` one of another document with its form, or as near as there is: uniform over these.

        Those of an `only` sentence end their document; the others do not, unless no other document has two sentences.
        """
        form = self._form[i] + self._forms * only
        low, high = (np.searchsorted(self._sorted, form, side=side) for side in ("left", "right"))
        following = len(self._form) - (len(self.documents) - 1)
        least, most = np.where(only, following, 0), np.where(only, len(self._form), following)
        found, left = np.zeros_like(i), np.arange(len(i))
        for attempt, around in enumerate(_AROUND):
            begin = np.maximum(low[left] - around, least[left])
            count = np.minimum(high[left] + around, most[left]) - begin
            drawn = begin + keyed.integers(np.maximum(count, 1), self._key("sentence", attempt), i[left])
            like = self._order[np.minimum(drawn, len(self._order) - 1)]
            other = (np.searchsorted(self.documents, like, side="right") - 1 != document[left]) & (count > 0)
            found[left[other]] = like[other]
            left = left[~other]
            if not len(left):
                return found
        other = keyed.integers(len(self.documents) - 2, self._key("document"), i[left])
        other += other >= document[left]
        size = self.documents[other + 1] - self.documents[other]
        found[left] = self.documents[other] + keyed.integers(size, self._key("sentence"), i[left]) - ~only[left]
        return found
