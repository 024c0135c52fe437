"""Traces rows back to the text: where each token of a row stands there, found by its content.

The name of a row in the first pass is the offset of the first token that it stands for. There its text is looked for,
and only there, with the labels put back in their places; a segment that comes from another document is looked for in
the whole text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab.inputs.audit.checks import Flags, Numbers
from bertlab.inputs.audit.drawing import Drawn
from bertlab.inputs.audit.search import elsewhere
from bertlab.inputs.batches import Corpus
from bertlab.inputs.formats import Text
from bertlab.recipe import Recipe


@dataclass(frozen=True)
class Structure:
    """R rows of T columns taken apart by their specials alone."""

    drawn: Drawn
    tokens: Numbers
    """(R, T) ids with the labels put back where something else is shown."""
    ordinary: Flags
    """(R, T) all but [CLS], [SEP] and padding."""
    second: Flags
    """(R, T) the ordinary tokens behind the first inner [SEP] of a pair."""
    inner: Flags
    """(R, T) each [SEP] but the last."""
    begins: Flags
    """(R, T) the ordinary tokens that begin a word; the first of a segment always does."""

    @property
    def later(self) -> Flags:
        """(R, T) the ordinary tokens of a pair's segment that comes later in the text, or from another document."""
        return np.asarray(self.ordinary & (self.second != (self.drawn.batch.order == 1)[:, None]))

    @property
    def sizes(self) -> Numbers:
        """(R,) ordinary tokens of each row."""
        return np.asarray(self.ordinary.sum(axis=1))

    @property
    def rank(self) -> Numbers:
        """(R, T) for each ordinary token how many stand before it in its row."""
        return np.asarray(np.cumsum(self.ordinary, axis=1) - 1)


@dataclass(frozen=True)
class Traced:
    """Where the tokens of R rows of T columns stand in a text."""

    places: Numbers
    """(R, T) offset in the text of each ordinary token; -1 where none was found, and for what is none."""
    agrees: Flags
    """(R,) whether each segment was found: the first in the text at the place that the row is named by."""
    follows: Flags
    """(R,) whether the later segment of a text was found behind the first."""
    away: Flags
    """(R,) whether another second segment was found in another document."""
    known: Flags
    """(R,) whether it was found anywhere, or there is none."""
    ends: Numbers
    """(D,) offsets where the documents of the text end."""

    @property
    def document(self) -> Numbers:
        """(R, T) the document of each token; meaningless where it has no place."""
        return np.searchsorted(self.ends, self.places, side="right")


def structure(drawn: Drawn, recipe: Recipe, corpus: Corpus) -> Structure:
    """Takes the rows apart."""
    batch, columns = drawn.batch, np.arange(drawn.batch.tokens.shape[1])
    tokens = batch.tokens.astype(np.int64)
    for loss in reversed(recipe.objective):
        loss.restore(tokens, batch.arrays[loss.kind])
    inside = (columns > 0) & (columns < batch.lengths[:, None] - 1)
    inner = inside & (tokens == corpus.tokenizer.sep)
    ordinary = inside & ~inner
    second = ordinary & (np.cumsum(inner, axis=1) > 0) & recipe.inputs.pairs
    opens = ordinary & ~np.roll(ordinary, 1, axis=1)  # in front of the first is [CLS]
    begins = opens | (ordinary & corpus.tokenizer.word_starts.take(tokens, mode="clip"))  # a wrong label may be no id
    return Structure(drawn=drawn, tokens=tokens, ordinary=ordinary, second=second, inner=inner, begins=begins)


def trace(rows: Structure, recipe: Recipe, corpus: Corpus) -> Traced:
    """Finds the rows of the first pass in the text."""
    text, drawn = corpus.train, rows.drawn
    tokens, ends = np.asarray(text.tokens), document_ends(text)
    reach = rows.tokens.shape[1] if recipe.inputs.format == "segment-pair" else 0  # its segments may be cut in front
    later = rows.later
    earlier = rows.ordinary & ~later
    sizes = earlier.sum(axis=1), later.sum(axis=1)
    moved = np.where(earlier, -sizes[1][:, None], sizes[0][:, None])
    rank = rows.rank + moved * (drawn.batch.order == 1)[:, None]  # in the text

    begin, agrees = _settle(tokens, rows.tokens, earlier, rank, drawn.batch.rows, reach)
    paired = sizes[1] > 0
    follows, away, known = np.zeros_like(paired), np.zeros_like(paired), ~paired
    second = np.full(len(paired), -1)
    behind = np.flatnonzero(paired & (drawn.batch.random_second == 0))
    after = rank[behind] - sizes[0][behind, None]
    second[behind], follows[behind] = _settle(
        tokens, rows.tokens[behind], later[behind], after, begin[behind] + sizes[0][behind], reach
    )
    known |= follows
    looked = np.flatnonzero(paired & ~follows)
    wanted = _justified(rows.tokens[looked], later[looked])
    home = np.searchsorted(ends, begin[looked], side="right")
    second[looked], known[looked] = elsewhere(tokens, ends, wanted, sizes[1][looked], home)
    away[looked] = second[looked] >= 0

    places = begin[:, None] + rank
    np.add(places, (second - begin - sizes[0])[:, None], out=places, where=later)
    placed = rows.ordinary & (places >= 0) & (places < len(tokens)) & ~(later & (second < 0)[:, None])
    return Traced(
        places=np.where(placed, places, -1), agrees=agrees & known, follows=follows, away=away, known=known, ends=ends
    )


def again(rows: Structure, others: Structure, epochs: int) -> tuple[str, Numbers, Numbers]:
    """What to call so many `epochs` later, and which sequences of two epochs have the same name: (N,) of each."""
    _, first, second = np.intersect1d(rows.drawn.batch.rows, others.drawn.batch.rows, return_indices=True)
    return f"after {epochs} pass{'es' if epochs > 1 else ''}", first, second


def document_ends(text: Text) -> Numbers:
    """(D,) where the documents of a text end."""
    return np.asarray(text.sentences)[np.asarray(text.documents[1:])]


def _settle(
    text: npt.NDArray[Any], tokens: Numbers, segment: Flags, rank: Numbers, start: Numbers, reach: int
) -> tuple[Numbers, Flags]:
    """The first offset from `start` (R,) on, at most `reach` behind it, at which the text has what each `segment`
    (R, T) has, and whether there is one; `start` if not.
    """
    begin, found = start.astype(np.int64), np.zeros(len(start), dtype=np.bool_)
    left = np.arange(len(start))
    for shift in range(reach + 1):
        at = (start[left] + shift)[:, None] + rank[left]
        there = (text.take(at, mode="clip") == tokens[left]) & (at >= 0) & (at < len(text))
        same = (there | ~segment[left]).all(axis=1)
        begin[left[same]] += shift
        found[left[same]] = True
        left = left[~same]
        if not len(left):
            break
    return begin, found


def _justified(tokens: Numbers, segment: Flags) -> Numbers:
    """The tokens of each segment moved to the left, (R, T)."""
    order = np.argsort(~segment, axis=1, kind="stable")
    return np.take_along_axis(tokens, order, axis=1)
