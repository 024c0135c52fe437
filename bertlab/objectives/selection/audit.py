"""Audits of selections of words: by their definition, and by comparison with a plain draw, sequence by sequence.

A plain draw shares no code with the selection of tokens in batches. It is a function of a random generator and a number
of words; it returns the words of the span that begins at each.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab.inputs.audit.checks import Check, Flags, Numbers, alike, always
from bertlab.inputs.audit.sample import Sample

DrawSizes = Callable[[np.random.Generator, int], npt.NDArray[Any]]
Segment = list[list[int]]
"""The positions of each word."""

_PLAIN = 4000
"""Sequences that are drawn plainly."""


def whole(sample: Sample, chosen: Flags) -> Check:
    """Words are chosen as a whole; at most one in part, if no other fits, and of that one the first pieces."""
    wrong, parts, total = np.zeros(len(chosen), dtype=np.bool_), 0, 0
    for number, taken in enumerate(_positions(chosen)):
        words = list(itertools.chain.from_iterable(_segments(sample, number)))
        counts = [len(taken.intersection(word)) for word in words]
        shortest = min((len(word) for word, count in zip(words, counts, strict=True) if not count), default=math.inf)
        part = [(word, count) for word, count in zip(words, counts, strict=True) if 0 < count < len(word)]
        wrong[number] = len(part) > 1 or any(
            shortest <= count or not taken.issuperset(word[:count]) for word, count in part
        )
        parts += len(part)
        total += sum(map(bool, counts))
    found = f"{parts:,} of {total:,} words in part"
    return always("chosen words", "whole, unless none fits", wrong, sample.name, found)


def like_a_plain_draw(sample: Sample, chosen: Flags, draw_sizes: DrawSizes) -> list[Check]:
    """Spans have the lengths and places of a plain draw and end at [SEP]; each sequence has its own."""
    which = np.linspace(0, len(chosen) - 1, min(len(chosen), _PLAIN)).astype(np.int64)
    segments = [_segments(sample, number) for number in which]
    batches = _positions(chosen[which])
    sides = _drawn(segments, batches, draw_sizes), batches
    every = [list(zip(segments, side, strict=True)) for side in sides]
    runs = [list(itertools.chain.from_iterable(itertools.starmap(_runs, side))) for side in every]
    across = [list(itertools.chain.from_iterable(itertools.starmap(_across, side))) for side in every]
    places = [[sum(taken) / max(1, len(taken)) for taken in side] for side in sides]
    others = [_shared(batches, side[-1:] + side[:-1]) for side in sides]
    return [
        _alike("words of a run of chosen ones", runs, "runs"),
        _alike("chosen on both sides of [SEP]", across, "words before a [SEP]"),
        _alike("mean position of the chosen", places),
        _alike("chosen in another sequence too", others),
    ]


def like_another_draw(
    figure: str, sample: Sample, which: Numbers, chosen: Flags, later: Flags, draw_sizes: DrawSizes
) -> Check:
    """The masks (N, T) of sequences `which` (N,) in two epochs have as much in common as one has with a plain draw."""
    one, other = _positions(chosen[:_PLAIN]), _positions(later[:_PLAIN])
    plain = _drawn([_segments(sample, number) for number in which[:_PLAIN]], one, draw_sizes)
    return _alike(figure, [_shared(one, plain), _shared(one, other)])


def _segments(sample: Sample, number: int) -> list[Segment]:
    """The segments of a sequence."""
    ordinary, starts = sample.ordinary[number].tolist(), sample.word_starts[number].tolist()
    segments: list[Segment] = []
    for position in itertools.compress(range(len(ordinary)), ordinary):
        if not ordinary[position - 1]:
            segments.append([])
        if starts[position]:
            segments[-1].append([])
        segments[-1][-1].append(position)
    return segments


def _positions(chosen: Flags) -> list[set[int]]:
    """The chosen positions of each sequence."""
    return [set(np.flatnonzero(flags).tolist()) for flags in chosen]


def _runs(segments: list[Segment], taken: set[int]) -> Iterable[int]:
    """Words of each run of chosen words."""
    for segment in segments:
        for flag, run in itertools.groupby(word[0] in taken for word in segment):
            if flag:
                yield len(list(run))


def _across(segments: list[Segment], taken: set[int]) -> Iterable[bool]:
    """For each chosen word before a [SEP], whether the word behind the [SEP] is chosen too."""
    for one, other in itertools.pairwise(segments):
        if one[-1][0] in taken:
            yield other[0][0] in taken


def _shared(sequences: Sequence[set[int]], others: Sequence[set[int]]) -> list[float]:
    """The share of the positions of each sequence that the other one has too."""
    return [len(one & other) / max(1, len(one)) for one, other in zip(sequences, others, strict=True)]


def _alike(figure: str, values: Sequence[Sequence[float]], of: str = "sequences") -> Check:
    """Whether a plain draw and the batches have values of one distribution."""
    plain, batches = map(np.array, values)
    return alike(figure, plain, batches, 0.0, ("a plain draw", "the batches"), of)


def _drawn(sequences: list[list[Segment]], chosen: list[set[int]], draw_sizes: DrawSizes) -> list[set[int]]:
    """As many positions of each sequence as are `chosen` there, by a plain draw."""
    random, drawn = np.random.default_rng(0), []
    for segments, taken in zip(sequences, chosen, strict=True):
        words = list(itertools.chain.from_iterable(segments))
        ends = np.repeat(np.cumsum([len(segment) for segment in segments]), [len(segment) for segment in segments])
        stops = np.minimum(np.arange(len(words)) + draw_sizes(random, len(words)), ends)
        spans = [range(word, stops[word]) for word in random.permutation(len(words)).tolist()]
        spent = _spent(spans, [len(word) for word in words], len(taken))
        drawn.append({position for word, tokens in spent.items() for position in words[word][:tokens]})
    return drawn


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
