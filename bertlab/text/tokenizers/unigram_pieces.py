"""The pieces of Unigram, estimated from words (Kudo 2018, section 3.2; Kudo and Richardson 2018).

Training by the `tokenizers` library adds floating-point numbers in the order of a hash table, so that two runs give two
vocabularies. Here they are added in a fixed order, and scores are rounded.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from array import array
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bertlab.arrays import Bool, Float64, Int32
from bertlab.text.tokenizers.alphabet import alphabet

SPACE = "▁"
"""The space in front of a word."""
_LONGEST_PIECE = 16
"""Characters, as in SentencePiece."""
_SEEDS = 10
"""Pieces at the start, in vocabularies; SentencePiece starts with 1,000,000."""
_KEPT = 0.75
"""The share of the pieces that is kept in a round, as in SentencePiece."""
_ENOUGH = 1.1
"""Rounds end at this many times the vocabulary; the most probable pieces are kept then, as in SentencePiece."""
_STEPS = 2
"""Steps of expectation maximisation in a round, as in SentencePiece."""
_RAREST = 0.5
"""A piece expected less often goes, as in SentencePiece."""
_DECIMALS = 4
"""Of scores: the last bits of logarithms depend on the processor."""


def estimated(words: Mapping[str, int], size: int) -> list[list[Any]]:
    """At most `size` pieces of `words` with their log-probabilities, the most probable first.

    Of the frequent parts of words those go, in rounds, without which the likelihood falls least. Single characters
    stay; others than those of the `alphabet` are unknown.
    """
    from scipy.special import digamma

    if not words:
        return []
    counts: Counter[str] = Counter({SPACE: sum(words.values())})
    for word, count in words.items():
        for character in word:
            counts[character] += count
    characters = set(alphabet(counts, size))
    fragments: Counter[str] = Counter()
    for word, count in words.items():
        for fragment in _fragments(word, characters):
            fragments[fragment] += count
    parts: Counter[str] = Counter()
    for fragment, count in fragments.items():
        for begin, end in _spans(fragment):
            parts[fragment[begin:end]] += count
    frequent = {part: count * len(part) for part, count in parts.items() if count > 1 and len(part) > 1}
    pieces = [*sorted(characters), *_largest(frequent, _SEEDS * size)]
    numbers, texts = {piece: number for number, piece in enumerate(pieces)}, sorted(fragments)
    single = np.arange(len(pieces)) < len(characters)
    frequency = np.array([parts[piece] for piece in pieces], dtype=np.float64)
    occurrences = np.array([fragments[text] for text in texts], dtype=np.float64)
    text = Lattice(texts, numbers)
    without = Lattice(pieces, numbers, proper=True)
    scores, alive = np.log(frequency) - math.log(frequency.sum()), np.ones(len(pieces), dtype=np.bool_)
    while True:
        for _ in range(_STEPS):
            frequency = text.expected(scores, occurrences)
            alive &= single | (frequency >= _RAREST)
            frequency = np.where(alive, np.maximum(frequency, _RAREST), 0)
            scores = digamma(frequency) - digamma(frequency.sum())
            text.keep(alive)
        left = np.count_nonzero(alive)
        if left <= _ENOUGH * size:
            break
        without.keep(alive)
        with np.errstate(invalid="ignore"):
            losses = np.where(alive, frequency * (scores - without.best(scores)), -np.inf)
        order = np.argsort(-losses.astype(np.float32), kind="stable")  # the last bits depend on the processor
        alive[order[max(int(_ENOUGH * size), int(_KEPT * left)) :]] = False
        text.keep(alive)
    scored = [(pieces[number], round(float(scores[number]), _DECIMALS)) for number in np.flatnonzero(alive)]
    kept = sorted(scored, key=lambda entry: (entry[0] not in characters, -entry[1], entry[0]))[:size]
    return [[piece, score] for piece, score in sorted(kept, key=lambda entry: (-entry[1], entry[0]))]


def _largest(counts: Mapping[str, int], size: int) -> list[str]:
    """The `size` texts with the largest counts, in their order."""
    return sorted(sorted(counts), key=counts.__getitem__, reverse=True)[:size]


def _fragments(word: str, known: Container[str]) -> Iterator[str]:
    """The runs of letters, of digits and of others of the `known` characters; SentencePiece joins no two of them."""

    def run_of(character: str) -> str:
        return {"L": "letters", "M": "letters", "N": "digits"}.get(unicodedata.category(character)[0], "others")

    space = SPACE
    for run, characters in itertools.groupby(word, lambda each: run_of(each) if each in known else ""):
        if run:
            yield space + "".join(characters)
        elif space:
            yield space
        space = ""


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where pieces of `text` may begin and end."""
    for end in range(1, len(text) + 1):
        for begin in range(max(0, end - _LONGEST_PIECE), end):
            yield begin, end


class Lattice:
    """All ways to split texts into pieces: a node between any two characters, an edge for each place of a piece.

    The edges of all texts are in the order of the characters in front of their ends.
    """

    def __init__(self, texts: Sequence[str], numbers: Mapping[str, int], proper: bool = False) -> None:
        """With `proper`, no text is a piece of itself."""
        lengths = np.array([len(text) for text in texts])
        self._leaves = np.cumsum(lengths + 1) - 1
        self._roots = self._leaves - lengths
        edges = array("i")
        for root, text in zip(self._roots.tolist(), texts, strict=True):
            for begin, end in _spans(text):
                number = numbers.get(text[begin:end])
                if number is not None and not (proper and end - begin == len(text)):
                    edges.extend((end, root + begin, root + end, number))
        found = np.array(edges, dtype=np.int32).reshape(-1, 4)
        self._edges = found[np.argsort(found[:, 0], kind="stable")].T.copy()

    def keep(self, alive: Bool) -> None:
        """Only the edges of these pieces."""
        self._edges = self._edges[:, alive[self._edges[3]]]

    def best(self, scores: Float64) -> Float64:
        """The score of the best way to split each text; minus infinity if there is none."""
        forward = self._forward(scores, summed=False)
        found: Float64 = forward[self._leaves]
        return found

    def expected(self, scores: Float64, occurrences: Float64) -> Float64:
        """How often each piece is expected in all texts, if these occur so often."""
        forward, flow = self._forward(scores, summed=True), np.zeros(self._leaves[-1] + 1)
        flow[self._leaves] = occurrences
        found = np.zeros(len(scores))
        for starts, ends, pieces in reversed(self._levels()):
            share = flow[ends] * np.exp(forward[starts] + scores[pieces] - forward[ends])
            np.add.at(flow, starts, share)
            np.add.at(found, pieces, share)
        return found

    def _forward(self, scores: Float64, summed: bool) -> Float64:
        """The score of the ways to each node: of the best one, or of all."""
        forward = np.full(self._leaves[-1] + 1, -np.inf)
        forward[self._roots] = 0
        for starts, ends, pieces in self._levels():
            ways, first = forward[starts] + scores[pieces], np.flatnonzero(np.diff(ends, prepend=-1))
            found = np.maximum.reduceat(ways, first)
            if summed:
                differences = ways - np.repeat(found, np.diff(first, append=len(ends)))
                found += np.log(np.add.reduceat(np.exp(differences), first))
            forward[ends[first]] = found
        return forward

    def _levels(self) -> list[Int32]:
        """The start, end and piece of the edges, those that end behind one character first."""
        levels, *edges = self._edges
        return np.split(np.stack(edges), np.flatnonzero(np.diff(levels)) + 1, axis=1)
