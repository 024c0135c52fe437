"""Sequences of two segments: their layout, their arrays, and what audits test of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bertlab import keyed
from bertlab.arrays import Array, Bool, Int8, Int32, Int64
from bertlab.errors import BadInput
from bertlab.inputs.checks import Check, alike, always
from bertlab.inputs.formats import base
from bertlab.inputs.formats.base import KeyOf, Layout, Spans
from bertlab.inputs.sample import PREFIX, Sample
from bertlab.recipe import Format
from bertlab.text.tokens import Part

_WIDER = (0, 0, 0, 0, 1, 4, 16, 1 << 30)
"""The forms by which each attempt to draw widens the range on both sides."""
_ALIKE = 0.03
"""The largest difference of form between true and random pairs: no classifier gains more than half of it from a
figure."""


@dataclass(frozen=True)
class PairLayout(Layout):
    """Sequences of two segments: [CLS] first [SEP] second [SEP]."""

    second: Int64
    """Offset of the second segment's first token."""
    second_length: Int32
    """Tokens of the second segment; 0 in a sequence of one segment."""
    is_random_next: Bool
    """Whether the second segment comes from another document."""
    swapped: Int8
    """1 if the segments are exchanged, 0 if they are not but could be, -1 otherwise."""

    @property
    def lengths(self) -> Int32:
        """(N,) tokens of each sequence, specials included."""
        return (self.first_length + self.second_length + 2 + (self.second_length > 0)).astype(np.int32)

    def spans(self, chosen: Int64) -> Spans:
        """The two segments."""
        begins, first = np.array([self.first.take(chosen), self.second.take(chosen)]).T, self.first_length.take(chosen)
        return Spans(begins, first[:, None], first + self.second_length.take(chosen))

    def arrays(self, chosen: Int64, last: Array) -> Mapping[str, Int32]:
        """The arrays `segments` (N, T), `is_random_next` (N,) and `swapped` (N,) of the batch."""
        random, swapped = (array.take(chosen).astype(np.int32) for array in (self.is_random_next, self.swapped))
        return {"segments": (last & 1).astype(np.int32), "is_random_next": random, "swapped": swapped}


class PairFormat(Format):
    """A format whose sequences have two segments, laid out by a `PairLayout`."""

    pairs: ClassVar[bool] = True

    def audit(self, sample: Sample) -> list[Check]:
        """Whether segments and labels describe the pairs, and whether those of both labels have the same form."""
        random, name, trace = sample.is_random_next, sample.name, sample.traced
        inside = np.arange(sample.tokens.shape[1]) < sample.text.lengths[:, None]
        segments = (np.cumsum(sample.inner, axis=1) > sample.inner) & inside
        mixed = (segments != sample.batch.format["segments"]).any(axis=1)
        behind = trace.follows | ~(trace.agrees & sample.second.any(axis=1))
        number, column = np.arange(len(random)), sample.later.argmax(axis=1)
        home = np.searchsorted(trace.ends, sample.batch.sequence_ids, side="right")
        there = (trace.places[number, column] >= 0) & (trace.document[number, column] == home)
        return [
            always("segments", "0, and 1 for the second", mixed, name),
            always("'follows'", "the text behind the first", ~random & ~behind, name),
            always("'another document'", "text of another document", random & there, name),
            *_form(sample),
        ]


def _form(sample: Sample) -> list[Check]:
    """Whether pairs of both labels have the same form: the boundaries of their segments, and their lengths."""
    if sample.recipe.pairing.random:
        label, names = sample.is_random_next, ("true pairs", "random ones")
        evaluated = np.ones_like(label)
    else:
        label, names = sample.swapped, ("pairs in order", "exchanged ones")
        evaluated = sample.batch.format["swapped"] >= 0
    # Text of a few tokens stands in many places: where it was taken from is not known.
    placed = sample.traced.agrees & evaluated & (sample.second.sum(axis=1) >= PREFIX)

    def compare(figure: str, values: Int64 | Bool, chosen: Bool) -> Check:
        return alike(figure, values[chosen & ~label], values[chosen & label], _ALIKE, names)

    boundary, checks, ends = sample.boundaries, [], []
    for name, segment in (("first", sample.ordinary & ~sample.second), ("second", sample.second)):
        size = segment.sum(axis=1)
        begin = sample.traced.places[np.arange(len(label)), segment.argmax(axis=1)]
        ends += [boundary[begin], boundary[np.where(placed, begin + size, 0)]]
        checks += [
            compare(f"{name} segment begins a sentence", ends[-2], placed),
            compare(f"{name} segment ends a sentence", ends[-1], placed),
            compare(f"tokens of the {name} segment", size, evaluated),
        ]
    checks.append(compare("first ends as the second begins", ends[1] == ends[2], placed))
    return [*checks, compare("tokens of both segments", sample.sizes, evaluated)]


def by_blocks(make: Callable[[Int64], PairLayout], starts: Int64) -> PairLayout:
    """The layout that `make` returns for `starts`, computed in blocks."""
    parts = [vars(make(starts[low : low + base.BLOCK])) for low in range(0, len(starts), base.BLOCK)]
    return PairLayout(**{name: np.concatenate([part.pop(name) for part in parts]) for name in tuple(parts[0])})


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

    def draw(self, forms: tuple[Int64, Int64], bounds: tuple[Any, Any], document: Int64, key: KeyOf, i: Int64) -> Int64:
        """Draws a sentence of another document for each sequence `i` of `document`, uniform over the range of forms.

        If that (inclusive) has none, it grows within `bounds`; if these have none either, the sentence is uniform over
        another document that is uniform over all others.
        """
        drawn, left = np.zeros_like(i), np.arange(len(i))
        least, most = (np.broadcast_to(bound, i.shape) for bound in bounds)
        last = len(self._ends) - 1
        for attempt, wider in enumerate(_WIDER):
            begin = self._ends[np.clip(np.maximum(forms[0][left] - wider, least[left]), 0, last)]
            count = self._ends[np.clip(np.minimum(forms[1][left] + wider, most[left]) + 1, 0, last)] - begin
            rank = begin + keyed.integers(np.maximum(count, 1), key("sentence", attempt), i[left])
            sentence = self._order[np.minimum(rank, len(self._order) - 1)]
            home = document[left]
            away = (sentence < self._documents[home]) | (sentence >= self._documents[home + 1])
            away &= count > 0
            drawn[left[away]] = sentence[away]
            left = left[~away]
            if not len(left):
                return drawn
        other = keyed.integers(len(self._documents) - 2, key("document"), i[left])
        other += other >= document[left]
        size = self._documents[other + 1] - self._documents[other]
        drawn[left] = self._documents[other] + keyed.integers(size, key("any"), i[left])
        return drawn
