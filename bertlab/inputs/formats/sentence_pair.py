"""Sentence pairs: each segment is one natural sentence (RoBERTa section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from bertlab import keyed
from bertlab.arrays import Bool, Int64
from bertlab.inputs.checks import Check, always, total
from bertlab.inputs.formats import base
from bertlab.inputs.formats.base import KeyOf, Layout
from bertlab.inputs.formats.pairs import FormIndex, PairFormat, PairLayout, by_blocks, require_others
from bertlab.inputs.formats.segment_pair import SegmentPairs
from bertlab.inputs.sample import Sample
from bertlab.recipe import Format, Recipe
from bertlab.text.tokens import Part

_TRUE = np.array([0.0, 0.0, 2 / 3, 1.0, 0.5])
"""Probability of a true pair, by the sentences left in the document (4 or more alike). A last sentence that is left
alone and not split cannot begin a true pair; 2/3 and 1 compensate, so that half of the pairs of a document are true in
expectation."""
_FINAL = 3
"""A last sentence is split if sentences of its form within documents are fewer than this multiple of the last ones."""


@dataclass(frozen=True, kw_only=True)
class SentencePairs(PairFormat):
    """Two sentences; batches have as many tokens as those of segment pairs."""

    kind: ClassVar[str] = "sentence-pair"
    drawn: ClassVar[bool] = True
    coverage: ClassVar[Literal["none twice"]] = "none twice"
    token_matched_to: ClassVar[Format | None] = SegmentPairs()

    def lay_out(self, text: Part, recipe: Recipe, length: int, copy: int) -> Layout:
        """Pairs of which half are true, whatever the losses."""
        return sentence_pairs(text, length=length, copy=copy, seed=recipe.seed)

    def audit(self, sample: Sample) -> list[Check]:
        """Each segment is one sentence; half of the pairs are from another document."""
        places, random = sample.traced.places, sample.batch.format["is_random_next"] == 1
        adjoining = (sample.ordinary & (places >= 0))[:, 1:] & (sample.ordinary & (places >= 0))[:, :-1]
        crossing = (adjoining & sample.boundaries[places[:, 1:]]).any(axis=1)
        # The pairs of a document depend on each other: documents are the independent units.
        home = np.searchsorted(sample.traced.ends, sample.batch.sequence_ids, side="right")
        variance = float((np.bincount(home, random - 0.5) ** 2).sum())
        size, of = len(random), "sequences"
        return [
            *super().audit(sample),
            always("a segment", "of one sentence", crossing, sample.name),
            total("pairs from another document", random.sum(), size / 2, variance, size, size, of),
        ]


def sentence_pairs(text: Part, *, length: int, copy: int, seed: int | str) -> PairLayout:
    """The sentence pairs of one epoch over `text`, of at most `length` tokens with their specials.

    A sentence is paired with the one that follows it, and the next sequence starts behind both; or with a sentence of
    another document, and the next sequence starts with the one that follows. Half of the pairs are true: `_TRUE`. A
    sentence longer than half a sequence is cut into even pieces, each a sentence of its own.

    True and random pairs have the same form, so that only their words distinguish them: the sentence of another
    document follows one that is as long as the first and is cut at the same ends. A sentence that is left alone at the
    end of its document begins no true pair. If few sentences of its form could (the only one of a document, the last
    piece of one that was cut, an abstract below its title), its form would reveal the label; it is then split at a
    random token, and in a random pair the back of another one of the same length replaces its own, which is lost.
    Raises `BadInput` if there is no other document.
    """
    require_others(text)
    pairs = _Pairs(text, length, copy, seed)
    return by_blocks(pairs.layout, base.follow(pairs.next, len(pairs.sentences) - 1))


class _Pairs:
    """The pair that would start at each sentence, for one epoch."""

    def __init__(self, text: Part, length: int, copy: int, seed: int | str) -> None:
        half = (length - 3) // 2
        self.sentences, self.documents = base.pieces(text, half, half)
        self._key: KeyOf = lambda *purpose: keyed.key(seed, "sentence pairs", *purpose, copy)
        # The form of a sentence: its tokens, and at which of its ends it was cut. Last sentences have their own forms.
        whole = base.natural(text, self.sentences)
        self._form = np.diff(self.sentences) + (half + 1) * (2 * whole[:-1] + whole[1:])
        self._forms = 4 * (half + 1)
        forms, last = self._form.copy(), self.documents[1:] - 1
        forms[last] += self._forms
        self._sentences = FormIndex(forms, self.documents)
        counts = np.bincount(forms, minlength=2 * self._forms)
        revealing = _FINAL * counts[forms[last]] > counts[self._form[last]]
        # Documents whose last sentence is split if it is left alone. A single token cannot be.
        self._splits = (np.diff(self.documents) == 1) | revealing & (np.diff(self.sentences)[last] > 1)

    def _draw(self, i: Int64) -> tuple[Int64, Bool, Bool]:
        """The document of each sentence, whether it is split, and whether a true pair starts there."""
        document = np.searchsorted(self.documents, i, side="right") - 1
        left, splits = self.documents[document + 1] - i, self._splits[document]
        chance = np.where(splits, 0.5, _TRUE[np.minimum(left, 4)])
        return document, splits & (left == 1), keyed.uniform(self._key("true"), i) < chance

    def next(self, i: Int64) -> Int64:
        """The sentence at which the sequence after the one that starts at each sentence `i` starts."""
        _, split, true = self._draw(i)
        return np.where(true & ~split, i + 2, i + 1)

    def layout(self, i: Int64) -> PairLayout:
        """The sequences that start at the sentences `i`."""
        document, split, true = self._draw(i)
        start, end = self.sentences[i], self.sentences[i + 1]
        within = 1 + keyed.integers(np.maximum(end - start - 1, 1), self._key("within"), i)
        second, random = np.where(split, i, i + 1), np.flatnonzero(~true)
        # The sentence behind one in another document that has the same form, or the nearest there is. For one that is
        # split, the last sentence of another document, of the same form.
        least = np.where(split, self._forms, 0)[random]
        form, bounds = self._form[i[random]] + least, (least, least + self._forms - 1)
        like = self._sentences.draw((form, form), bounds, document[random], self._key, i[random])
        ends = self.documents[base.places_of(self.documents, like, "right")]
        second[random] = np.where(split[random], like, np.minimum(like + 1, ends - 1))
        behind = self.sentences[second + 1]
        second_length = behind - self.sentences[second]
        second_length = np.where(split, np.minimum(end - start - within, second_length), second_length).astype(np.int32)
        first_length = np.where(split, within, end - start).astype(np.int32)
        order = np.full(len(i), -1, dtype=np.int8)
        return PairLayout(start, start, first_length, behind - second_length, second_length, ~true, order)
