"""Audits of selections of words: against their definition, and beside a plain draw, one sequence after the other.

A plain draw is a function of a random generator and the end of each word's segment (W,), in words of the sequence: it
gives spans of words in the order in which they are chosen. It shares no code with what chooses in batches.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab.inputs.audit.checks import Check, Flags, Numbers, alike, always
from bertlab.inputs.audit.tracing import Structure

Draw = Callable[[np.random.Generator, npt.NDArray[Any]], list[range]]

_PLAIN = 4000
"""Sequences that are drawn plainly."""


@dataclass(frozen=True)
class _Words:
    """The W words of R sequences, in their order."""

    row: Numbers
    """(W,) the sequence of each."""
    column: Numbers
    """(W,) where each begins."""
    sizes: Numbers
    """(W,) tokens of each."""
    opens: Flags
    """(W,) whether each is the first of its segment."""
    number: Numbers
    """(N,) the word of each ordinary token."""


def _words(rows: Structure) -> _Words:
    begins = rows.begins[rows.ordinary]
    row, column = np.nonzero(rows.begins)
    sizes = np.diff(np.append(np.flatnonzero(begins), len(begins)))
    return _Words(row, column, sizes, ~rows.ordinary[row, column - 1], np.cumsum(begins) - 1)


def whole(rows: Structure, chosen: Flags) -> Check:
    """Words are chosen as a whole; of one at most, where no other fits, the first pieces."""
    words = _words(rows)
    taken, total = chosen[rows.ordinary], len(words.sizes)
    counts = np.bincount(words.number, taken, minlength=total)
    place = np.arange(len(taken)) - np.append(0, np.cumsum(words.sizes))[words.number]
    in_front = np.bincount(words.number, taken & (place < counts[words.number]), minlength=total)
    part = (counts > 0) & (counts < words.sizes)
    free = counts == 0
    shortest = np.full(len(chosen), chosen.shape[1])
    np.minimum.at(shortest, words.row[free], words.sizes[free])
    wrong = np.bincount(words.row[part], minlength=len(chosen)) > 1
    wrong[words.row[part & ((shortest[words.row] <= counts) | (in_front < counts))]] = True
    found = f"{part.sum():,} of {(counts > 0).sum():,} words in part"
    return always("chosen words", "whole, but where none fits", wrong, rows.drawn.name, found)


def shown_alike(rows: Structure, chosen: Flags, mask: int) -> Check:
    """All tokens of a span are shown as [MASK], or none is."""
    hidden = rows.drawn.batch.tokens == mask
    wrong = chosen[:, 1:] & chosen[:, :-1] & (hidden[:, 1:] != hidden[:, :-1])
    return always("tokens of a span", "shown alike", wrong.any(axis=1), rows.drawn.name)


def like_a_plain_draw(rows: Structure, chosen: Flags, draw: Draw) -> list[Check]:
    """Spans are as long as in a plain draw, lie where they lie there and end at [SEP]; each sequence has its own."""
    words = _words(rows)
    which = np.linspace(0, len(chosen) - 1, min(len(chosen), _PLAIN)).astype(np.int64)
    sides = _drawn(words, which, chosen[which], draw), chosen[which]
    inside = np.isin(words.row, which)
    at = np.searchsorted(which, words.row[inside]), words.column[inside]
    row, opens = words.row[inside], words.opens[inside]
    behind = np.flatnonzero(opens[1:] & (row[1:] == row[:-1])) + 1
    lengths, across = [], []
    for side in sides:
        picked = side[at]
        begins = picked & ~np.append(False, picked[:-1] & ~opens[1:])
        lengths.append(np.bincount(np.cumsum(begins)[picked])[1:])
        across.append(picked[behind][picked[behind - 1]])
    places = [(side * np.arange(side.shape[1])).sum(axis=1) / np.maximum(side.sum(axis=1), 1) for side in sides]
    others = [_shared(sides[1], np.roll(side, 1, axis=0)) for side in sides]
    return [
        _alike("words of a run of chosen ones", lengths, "runs"),
        _alike("chosen on both sides of [SEP]", across, "words before a [SEP]"),
        _alike("mean position of the chosen", places),
        _alike("chosen in another sequence too", others),
    ]


def like_another_draw(figure: str, rows: Structure, which: Numbers, chosen: Flags, later: Flags, draw: Draw) -> Check:
    """The masks (N, T) of sequences `which` (N,) in two epochs have as much in common as one has with a plain draw."""
    part = slice(0, _PLAIN)
    plain = _drawn(_words(rows), which[part], chosen[part], draw)
    return _alike(figure, [_shared(chosen[part], plain), _shared(chosen[part], later[part])])


def _shared(one: Flags, other: Flags) -> npt.NDArray[Any]:
    """The share of one's tokens that are the other's too, in each sequence."""
    return np.asarray((one & other).sum(axis=1) / np.maximum(one.sum(axis=1), 1))


def _alike(figure: str, sides: Sequence[npt.NDArray[Any]], of: str = "sequences") -> Check:
    """Whether a plain draw and the batches have values of one distribution."""
    drawn = np.repeat([False, True], [len(side) for side in sides])
    return alike(figure, np.concatenate(sides), drawn, 0.0, of, ("a plain draw", "the batches"))


def _drawn(words: _Words, which: Numbers, chosen: Flags, draw: Draw) -> Flags:
    """As many tokens of the sequences `which` (N,) as are `chosen` (N, T) there, but by a plain draw."""
    random, out = np.random.default_rng(0), np.zeros_like(chosen)
    bounds = zip(*np.searchsorted(words.row, [which, which + 1]), strict=True)
    for flags, left, (low, high) in zip(out, chosen.sum(axis=1), bounds, strict=True):
        sizes, opens = words.sizes[low:high], np.append(np.flatnonzero(words.opens[low:high]), high - low)
        spans = draw(random, np.repeat(opens[1:], np.diff(opens)))
        for word, tokens in _spent(spans, sizes.tolist(), int(left)).items():
            flags[words.column[low + word] :][:tokens] = True
    return out


def _spent(spans: list[range], sizes: list[int], left: int) -> dict[int, int]:
    """The tokens taken of each chosen word: span by span until a word does not fit, then single words that do."""
    taken: dict[int, int] = {}
    for word in itertools.chain.from_iterable(spans):
        if sizes[word] > left and word not in taken:
            break
        left -= sizes[word] - taken.get(word, 0)
        taken[word] = sizes[word]
    for span in spans:
        if span.start not in taken and sizes[span.start] <= left:
            taken[span.start] = sizes[span.start]
            left -= sizes[span.start]
    if left:
        taken[next(span.start for span in spans if span.start not in taken)] = left
    return taken
