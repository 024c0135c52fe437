"""Traces sequences back to the text by their content.

The id of a sequence in the first epoch is the offset of the first token that it stands for. The text of the sequence,
with the labels in place of what is shown, must stand there. A second segment from another document may stand anywhere.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab.inputs.audit.checks import Flags, Numbers
from bertlab.inputs.audit.sample import Sample

Words = npt.NDArray[np.uint64]

_PREFIX = 8
"""Tokens of a segment whose hash finds candidates; all its tokens are then compared."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_CHUNK = 1 << 22
"""Tokens of the text that are searched together."""


@dataclass(frozen=True)
class Trace:
    """Where the tokens of R sequences of T positions stand in the text."""

    places: Numbers
    """(R, T) offset in the text of each ordinary token; -1 for tokens that were not found, and for all others."""
    agrees: Flags
    """(R,) whether both segments were found, the first at the place that is the id of the sequence."""
    follows: Flags
    """(R,) whether the later segment was found behind the earlier one."""
    away: Flags
    """(R,) whether a later segment that does not follow was found in another document."""
    known: Flags
    """(R,) whether the later segment was found anywhere, or there is none."""
    ends: Numbers
    """(D,) offsets at which the documents of the text end."""

    @property
    def document(self) -> Numbers:
        """(R, T) the document of each token; meaningless for one without a place."""
        return np.searchsorted(self.ends, self.places, side="right")


def trace(sample: Sample) -> Trace:
    """Finds the sequences of the first epoch in the text."""
    text = np.asarray(sample.corpus.train.tokens)
    ends = np.asarray(sample.corpus.train.sentences)[np.asarray(sample.corpus.train.documents[1:])]
    reach = sample.length if sample.recipe.inputs.format == "segment-pair" else 0  # its segments may be cut in front
    places = np.full(sample.tokens.shape, -1)
    agrees, follows, away = np.zeros((3, len(places)), dtype=np.bool_)
    known = np.asarray(~sample.later.any(axis=1))
    queries, segments, homes = [], [], []
    for number, begin in enumerate(sample.batch.sequence_ids.tolist()):
        one, two = sample.ordinary[number] & ~sample.later[number], sample.later[number]
        first, second = sample.tokens[number, one], sample.tokens[number, two]
        place = _find(text, first, begin, reach)
        agrees[number] = place is not None
        begin = begin if place is None else place
        places[number, one] = begin + np.arange(len(first))
        if known[number]:
            continue
        place = None
        if not sample.batch.random_second[number]:
            place = _find(text, second, begin + len(first), reach)
        if place is not None:
            follows[number] = known[number] = True
            places[number, two] = place + np.arange(len(second))
        else:
            queries.append(number)
            segments.append(second)
            homes.append(np.searchsorted(ends, begin, side="right"))
    if queries:
        found, known[queries] = elsewhere(text, ends, segments, np.array(homes))
        for number, place in zip(queries, found.tolist(), strict=True):
            if place >= 0:
                away[number] = True
                places[number, sample.later[number]] = place + np.arange(sample.later[number].sum())
    places[places >= len(text)] = -1
    return Trace(places, agrees & known, follows, away, known, ends)


def _find(text: npt.NDArray[Any], segment: Numbers, begin: int, reach: int) -> int | None:
    """The first offset from `begin` on, at most `reach` behind it, at which `text` has the `segment`."""
    for place in range(begin, min(begin + reach, len(text) - len(segment)) + 1):
        if np.array_equal(text[place : place + len(segment)], segment):
            return place
    return None


def elsewhere(text: npt.NDArray[Any], ends: Numbers, segments: list[Numbers], home: Numbers) -> tuple[Numbers, Flags]:
    """Finds each of Q segments in a document other than `home` (Q,); `ends` (D,) are the offsets where documents end.

    Returns its offset, (Q,), -1 if there is none, and whether any document has it, (Q,).
    """
    import pandas

    places = np.full(len(segments), -1, dtype=np.int64)
    known = np.zeros(len(segments), dtype=np.bool_)
    sizes = np.array([len(segment) for segment in segments])
    heads = np.array([np.pad(segment[:_PREFIX], (0, max(0, _PREFIX - len(segment)))) for segment in segments])
    for low in range(0, len(text), _CHUNK):
        part = np.append(text[low : low + _CHUNK + _PREFIX], np.zeros(_PREFIX, text.dtype))
        words = np.zeros(min(_CHUNK, len(text) - low), dtype=np.uint64)
        keys = np.zeros(len(segments), dtype=np.uint64)
        for size in range(1, _PREFIX + 1):
            words = _extended(words, part[size - 1 : size - 1 + len(words)])
            keys = _extended(keys, heads[:, size - 1])
            queries = np.flatnonzero((np.minimum(sizes, _PREFIX) == size) & (places < 0))
            begins = np.flatnonzero(pandas.Index(words).isin(keys[queries]))
            candidates = pandas.Series(begins).groupby(words[begins]).indices
            for query in queries:
                for place in low + begins[candidates.get(keys[query], [])]:
                    document = np.searchsorted(ends, place, side="right")
                    stop = place + sizes[query]
                    if stop <= ends[document] and np.array_equal(text[place:stop], segments[query]):
                        known[query] = True
                        if document != home[query]:
                            places[query] = place
                            break
    return places, known


def _extended(words: Words, tokens: npt.NDArray[Any]) -> Words:
    """Hashes of sequences that are one token longer."""
    return (words + tokens.astype(np.uint64) + np.uint64(1)) * _FACTOR ^ (words >> np.uint64(29))
