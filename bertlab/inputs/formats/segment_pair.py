"""Segment pairs (BERT appendix A.2), and the single segments of evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from bertlab import keyed
from bertlab.arrays import Bool, Int8, Int64
from bertlab.inputs.checks import Check, share
from bertlab.inputs.formats import base
from bertlab.inputs.formats.base import KeyOf, Layout
from bertlab.inputs.formats.pairs import FormIndex, PairFormat, PairLayout, by_blocks, require_others
from bertlab.inputs.sample import Sample
from bertlab.recipe import Pairing, Recipe
from bertlab.text.tokens import Part


@dataclass(frozen=True, kw_only=True)
class SegmentPairs(PairFormat):
    """BERT's: two segments of sentences that fill the sequence, but for a share that is cut short."""

    kind: ClassVar[str] = "segment-pair"
    exchanges: ClassVar[bool] = True
    drawn: ClassVar[bool] = True
    trimmed: ClassVar[bool] = False
    cut_in_front: ClassVar[bool] = True
    coverage: ClassVar[Literal["none twice"]] = "none twice"

    def lay_out(self, text: Part, recipe: Recipe, length: int, copy: int) -> Layout:
        """Pairs as the losses of the recipe need them."""
        short, pairing = recipe.inputs.short_seq_prob, recipe.pairing
        return segment_pairs(text, length=length, short=short, copy=copy, seed=recipe.seed, pairing=pairing)

    def audit(self, sample: Sample) -> list[Check]:
        """The shares of pairs from another document, of exchanged pairs, and of pairs that are cut short."""
        batch, recipe, ends = sample.batch, sample.recipe, sample.traced.ends
        random, pairing = batch.format["is_random_next"] == 1, recipe.pairing
        checks = [share("pairs from another document", int(random.sum()), len(random), pairing.random, "sequences")]
        if pairing.exchanged:
            ordered, exchanged = int((batch.format["swapped"] >= 0).sum()), int((batch.format["swapped"] == 1).sum())
            checks.append(share("pairs exchanged", exchanged, ordered, pairing.exchanged, "pairs with an order"))
        # True pairs that are cut short on purpose, of those that the end of their document cannot cut.
        starts, room = batch.sequence_ids, sample.length - 3
        behind = ends[np.minimum(np.searchsorted(ends, starts, side="right"), len(ends) - 1)]
        free = ~random & (behind - starts >= 2 * room)
        short = int((sample.text.lengths[free] < sample.length).sum())
        # The shorter length is drawn from 2 up to the whole room, which is not short.
        rate = recipe.inputs.short_seq_prob * (1 - 1 / (room - 1))
        return [*super().audit(sample), *checks, share("pairs cut short", short, int(free.sum()), rate, "sequences")]


def segment_pairs(
    text: Part, *, length: int, short: float, copy: int, seed: int | str, pairing: Pairing | None = None
) -> PairLayout:
    """The segment pairs of one epoch over `text`, of at most `length` tokens with their specials.

    A chunk of sentences that reaches the target length is split at a random sentence. In a share `pairing.random` of
    the sequences the second part is replaced by whole sentences of another document, until the target is reached again;
    the next sequence starts with the replaced part. In a share `pairing.exchanged` of the others the two parts change
    places (ALBERT section 3.1). What exceeds the target is cut from the longer segment, a token at a time, at its front
    or back. Every token is in the own part of exactly one sequence, or cut.

    True and random pairs have the same form, so that only their words distinguish them. A second part that ends its
    document before the target, or starts within a sentence too long for a sequence, is replaced by one that does too. A
    chunk of one sentence is split at a random token; the back of another document's last sentence replaces its own.

    Pairs in order and exchanged pairs have the same form too: only pairs whose mirror image would also be a chunk have
    an order. Both segments begin and end at sentences, or both within one; and with its first sentence at its end the
    chunk would end at the same place, since the sentence that reaches the target is a long one in most chunks.
    Raises `BadInput` if random pairs need another document and there is none.
    """
    pairs = _Pairs(text, length, short, copy, seed, pairing or Pairing())
    if pairs.pairing.random:
        require_others(text)
    return by_blocks(pairs.layout, base.follow(pairs.next, len(pairs.sentences) - 1))


def single_segments(text: Part, *, length: int) -> Layout:
    """Consecutive sentences of one document until `length` is reached, cut at the back; the next sequence goes on."""
    sentences, documents = _spans(text, length - 2)
    return base.consecutive(sentences, lambda i: _reach(sentences, documents, i, length - 2)[1], length - 2)


class _Chunk(NamedTuple):
    """The chunk that would start at each of N spans."""

    target: Int64
    """Ordinary tokens of its sequence, if there are enough."""
    document: Int64
    stop: Int64
    """The span behind the chunk."""
    split: Int64
    """The span at which the second segment starts; meaningless in a chunk that is split at a token."""
    within: Bool
    """Whether it is split at a token: it has one sentence, or two and the second is a lone last token."""
    random: Bool
    """Whether the second segment is replaced."""


class _Pairs:
    """The pair that would start at each span, for one epoch."""

    def __init__(self, text: Part, length: int, short: float, copy: int, seed: int | str, pairing: Pairing) -> None:
        self.whole = length - 3
        self.short, self.pairing = short, pairing
        self.sentences, self.documents = _spans(text, self.whole)
        self._natural = base.natural(text, self.sentences)
        # The form of a span: whether a sentence starts with it, and the tokens up to its document's end, at most whole.
        ends = self.sentences[self.documents[1:]]
        forms = np.repeat(ends, np.diff(self.documents))
        forms -= self.sentences[:-1]
        np.minimum(forms, self.whole, out=forms)
        forms[self._natural[:-1]] += self.whole + 1
        self._spans = FormIndex(forms, self.documents)
        last = ends - self.sentences[self.documents[1:] - 1]
        self._lasts = FormIndex(np.minimum(last, self.whole + 1), np.arange(len(self.documents)))
        self._key: KeyOf = lambda *purpose: keyed.key(seed, "pairs", *purpose, copy)

    def _chunk(self, i: Int64) -> _Chunk:
        cut_short = keyed.uniform(self._key("short"), i) < self.short
        target = np.where(cut_short, 2 + keyed.integers(self.whole - 1, self._key("target"), i), self.whole)
        document, stop = _reach(self.sentences, self.documents, i, target)
        count = stop - i
        split = i + 1 + keyed.integers(np.maximum(count - 1, 1), self._key("split"), i)
        # A replaced part must not be a lone last token, which the next sequence could not split.
        lone = self.sentences[self.documents[document + 1]] - self.sentences[split] == 1
        within = (count == 1) | lone & (count == 2)
        random = keyed.uniform(self._key("random"), i) < self.pairing.random
        return _Chunk(target, document, stop, split - lone, within, random)

    def _order(self, i: Int64, chunk: _Chunk) -> tuple[Int8, Int64]:
        """`PairLayout.swapped` of the sequences that start at the spans `i`, and where their second segments start."""
        order, split = np.full(len(i), -1, dtype=np.int8), chunk.split.copy()
        if not self.pairing.exchanged:
            return order, split
        free = (self._natural[i] == self._natural[chunk.stop]) & ~chunk.random
        free &= self.sentences[chunk.stop] - self.sentences[i + 1] < chunk.target
        exchanged = keyed.uniform(self._key("exchanged"), i) < self.pairing.exchanged
        for alike in (self._natural, ~self._natural):  # splits of the same form as both ends, equally likely
            before, places = np.cumsum(alike), np.flatnonzero(alike)
            count: Int64 = before[chunk.stop - 1] - before[i]
            at = np.flatnonzero(free & alike[i] & (count > 0))
            split[at] = places[before[i[at]] + keyed.integers(count[at], self._key("mirrored"), i[at])]
            order[at] = exchanged[at]
        return order, split

    def next(self, i: Int64) -> Int64:
        """The span at which the sequence after the one that starts at each span `i` starts."""
        chunk = self._chunk(i)
        return np.where(chunk.random & ~chunk.within, chunk.split, chunk.stop)

    def layout(self, i: Int64) -> PairLayout:
        """The sequences that start at the spans `i`."""
        chunk = self._chunk(i)
        order, split = self._order(i, chunk)
        start = self.sentences[i]
        total = self.sentences[chunk.stop] - start
        within = 1 + keyed.integers(total - 1, self._key("within"), i)
        first_length = np.where(chunk.within & (order < 0), within, self.sentences[split] - start)
        second, second_length = start + first_length, total - first_length
        at = np.flatnonzero(chunk.random & ~chunk.within)
        second[at], second_length[at] = self._elsewhere(i, chunk, first_length, total, at)
        at = np.flatnonzero(chunk.random & chunk.within)
        second[at], second_length[at] = self._back(i[at], chunk.document[at], second_length[at])
        # Exchanged before anything is cut: what is cut depends on the place in the sequence, not on that in the text.
        first = start.copy()
        at = np.flatnonzero(order == 1)
        first[at], second[at] = second[at], first[at]
        first_length[at], second_length[at] = second_length[at], first_length[at]

        # Google's loop takes single tokens from the longer segment, from the second if both are equally long.
        first_kept = np.minimum(first_length, np.maximum(chunk.target - second_length, (chunk.target + 1) // 2))
        second_kept = np.minimum(second_length, chunk.target - first_kept)
        first += _heads(first_length - first_kept, self._key("first front"), i)
        second += _heads(second_length - second_kept, self._key("second front"), i)
        first_kept, second_kept = first_kept.astype(np.int32), second_kept.astype(np.int32)
        return PairLayout(start, first, first_kept, second, second_kept, chunk.random, order)

    def _elsewhere(self, i: Int64, chunk: _Chunk, first_length: Int64, total: Int64, at: Int64) -> tuple[Int64, Int64]:
        """Sentences of another document for the sequences `at` of those that start at `i`: offsets and tokens. They
        reach the target; if the sequence's own document ends before it, they have the tokens that are left there."""
        document, target = chunk.document[at], chunk.target[at]
        need, rest = np.maximum(target - first_length[at], 1), (total - first_length)[at]
        whole = (self.whole + 1) * self._natural[chunk.split[at]]
        fills = rest >= need
        forms = whole + np.where(fills, need, rest), whole + np.where(fills, self.whole, rest)
        span = self._spans.draw(forms, (whole + 1, whole + self.whole), document, self._key, i[at])
        begin = self.sentences[span]
        end = self.sentences[self.documents[base.places_of(self.documents, span, "right")]]
        filled = self.sentences[base.places_of(self.sentences, np.minimum(begin + need, end))]
        return begin, np.where(fills, filled, end) - begin

    def _back(self, i: Int64, document: Int64, size: Int64) -> tuple[Int64, Int64]:
        """The last `size` tokens of a longer sentence that ends another document: offsets and tokens."""
        other = self._lasts.draw((size + 1, size * 0 + self.whole + 1), (1, self.whole + 1), document, self._key, i)
        begin, end = (self.sentences[self.documents[other + side]] for side in (0, 1))
        first = np.maximum(end - size, begin)
        return first, end - first


def _heads(cut: Int64, key: int, i: Int64) -> Int64:
    """The number of tokens that each sequence `i` loses at the front, of `cut` in all: each with probability 1/2."""
    front = np.zeros_like(cut)
    for word in range(-(-int(cut.max(initial=0)) // 63)):
        mask = (1 << np.clip(cut - 63 * word, 0, 63)) - 1
        front += np.bitwise_count(keyed.bits(key, i, word).view(np.int64) & mask)
    return front


def _spans(text: Part, room: int) -> tuple[Int64, Int64]:
    """Sentence and document offsets in which a sentence of more than half the `room` tokens is cut into pieces of at
    most an eighth: a sequence that ends within a sentence loses the rest, most of a text of long ones."""
    return base.pieces(text, max(2, room // 2), max(1, room // 8))


def _reach(sentences: Int64, documents: Int64, i: Int64, target: Int64 | int) -> tuple[Int64, Int64]:
    """The document of each span `i`, and the end of the chunk that holds `target` tokens or the document's rest."""
    document = np.searchsorted(documents, i, side="right") - 1
    end = documents[document + 1]
    stop = np.minimum(np.searchsorted(sentences, sentences[i] + target), end)
    # A lone last token joins the chunk before it.
    return document, np.where(sentences[end] - sentences[stop] == 1, end, stop)
