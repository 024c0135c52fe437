"""Sentence pairs: each segment is one natural sentence (RoBERTa section 4.2)."""

from __future__ import annotations

import numpy as np

from bertlab import keyed
from bertlab.inputs.formats.rows import (
    Alike,
    Flags,
    Offsets,
    Rows,
    Text,
    by_blocks,
    follow,
    natural,
    pieces,
    require_others,
    unordered,
)

_TRUE = np.array([0.0, 0.0, 2 / 3, 1.0, 0.5])
"""Chance that a row is a true pair, by the sentences that its document has left (4 or more alike). A last sentence that
is left alone, and not split, can be none; these make up for it, so that half of a document's rows are true pairs in
expectation."""

_FINAL = 3
"""A last sentence is split where those of its form within documents are fewer than so many times the last ones."""


def sentence_pairs(text: Text, *, length: int, copy: int, seed: int | str) -> Rows:
    """The sentence pairs of one pass over `text`, rows of at most `length` tokens with their specials.

    A sentence is paired with the one that follows it, and the next row starts behind both; or with a sentence of
    another document, and the next row starts with the one that follows. Half of the rows are true pairs: `_TRUE`. A
    sentence longer than half a row is cut into even pieces, each a sentence of its own.

    True and random pairs have the same form, so that only their words tell them apart: the sentence of another document
    follows one that is as long as the first, and cut at the same ends. A sentence that is left alone at the end of its
    document begins no true pair. Where few of its form could elsewhere (the only sentence of a document, the last piece
    of one that was cut, an abstract below its title), that would tell the label, and it is split at a random token. In
    a random pair the back of another that is as long takes the place of its own, which is lost. Every other token is in
    the own part of exactly one row.

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
        self._form = np.diff(self.sentences) + (half + 1) * (2 * whole[:-1] + whole[1:])
        self._forms = 4 * (half + 1)
        forms, last = self._form.copy(), self.documents[1:] - 1
        forms[last] += self._forms
        self._sentences = Alike(forms, self.documents)
        counts = np.bincount(forms, minlength=2 * self._forms)
        told = _FINAL * counts[forms[last]] > counts[self._form[last]]
        # Documents whose last sentence is split where it is left alone: one token cannot be.
        self._splits = (np.diff(self.documents) == 1) | told & (np.diff(self.sentences)[last] > 1)

    def _key(self, *purpose: int | str) -> int:
        return keyed.key(self._seed, "sentence pairs", *purpose, self._copy)

    def _draw(self, i: Offsets) -> tuple[Offsets, Flags, Flags]:
        """The document of each sentence, whether it is split, and whether a true pair starts there."""
        document = np.searchsorted(self.documents, i, side="right") - 1
        left, splits = self.documents[document + 1] - i, self._splits[document]
        chance = np.where(splits, 0.5, _TRUE[np.minimum(left, 4)])
        return document, splits & (left == 1), keyed.uniform(self._key("true"), i) < chance

    def next(self, i: Offsets) -> Offsets:
        """The sentence at which the row after the one starting at each sentence `i` starts."""
        _, split, true = self._draw(i)
        return np.where(true & ~split, i + 2, i + 1)

    def rows(self, i: Offsets) -> Rows:
        """The rows that start at the sentences `i`."""
        document, split, true = self._draw(i)
        start, end = self.sentences[i], self.sentences[i + 1]
        within = 1 + keyed.integers(np.maximum(end - start - 1, 1), self._key("within"), i)
        second, random = np.where(split, i, i + 1), np.flatnonzero(~true)
        second[random] = self._elsewhere(i[random], document[random], split[random])
        behind = self.sentences[second + 1]
        second_length = behind - self.sentences[second]
        second_length = np.where(split, np.minimum(end - start - within, second_length), second_length)
        return Rows(
            starts=start,
            first=start,
            first_length=np.where(split, within, end - start).astype(np.int32),
            second=behind - second_length,
            second_length=second_length.astype(np.int32),
            random=~true,
            order=unordered(len(i)),
        )

    def _elsewhere(self, i: Offsets, document: Offsets, split: Flags) -> Offsets:
        """For each sentence `i` one of another document: what follows one with its form, or as near as there is.

        For one that is `split` it is the last of another document, of its form.
        """
        least = np.where(split, self._forms, 0)
        form = self._form[i] + least
        like = self._sentences.draw((form, form), (least, least + self._forms - 1), document, self._key, i)
        ends = self.documents[np.searchsorted(self.documents, like, side="right")]
        return np.where(split, like, np.minimum(like + 1, ends - 1))
