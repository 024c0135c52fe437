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

PREFIX = 8
"""Tokens of a segment whose hash finds candidates; all its tokens are then compared. A shorter segment from another
document is not searched: it stands in many places."""
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
    """(R,) whether a later segment that does not follow was found in another document, or is too short to search."""
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
    queries, segments = [], []
    for number, begin in enumerate(sample.batch.sequence_ids.tolist()):
        one, two = sample.ordinary[number] & ~sample.later[number], sample.later[number]
        first, second = sample.tokens[number, one], sample.tokens[number, two]
        place = _find(text, first, begin, reach)
        agrees[number] = place is not None
        begin = begin if place is None else place
        places[number, one] = begin + np.arange(len(first))
        place = None
        if not sample.batch.random_second[number]:
            place = _find(text, second, begin + len(first), reach)
        if place is not None:
            follows[number] = True
            places[number, two] = place + np.arange(len(second))
        elif len(second) < PREFIX:
            away[number] = True
        else:
            queries.append(number)
            segments.append(second)
    places[places >= len(text)] = -1
    if queries:
        homes = np.searchsorted(ends, sample.batch.sequence_ids[queries], side="right")
        found = elsewhere(text, ends, segments, homes)
        agrees[queries] &= found >= 0
        away[queries] = (found >= 0) & (np.searchsorted(ends, found, side="right") != homes)
        for number, place, segment in zip(queries, found.tolist(), segments, strict=True):
            if place >= 0:
                places[number, sample.later[number]] = place + np.arange(len(segment))
    return Trace(places, agrees, follows, away, ends)


def _find(text: npt.NDArray[Any], segment: Numbers, begin: int, reach: int) -> int | None:
    """The first offset from `begin` on, at most `reach` behind it, at which `text` has the `segment`."""
    for place in range(begin, min(begin + reach, len(text) - len(segment)) + 1):
        if np.array_equal(text[place : place + len(segment)], segment):
            return place
    return None


def elsewhere(text: npt.NDArray[Any], ends: Numbers, segments: list[Numbers], home: Numbers) -> Numbers:
    """An offset of each of Q segments of `PREFIX` tokens or more, (Q,): in a document other than `home` (Q,) if any.

    -1 if no document has the segment; `ends` (D,) are the offsets where documents end.
    """
    import pandas

    places, apart = np.full(len(segments), -1), np.zeros(len(segments), dtype=np.bool_)
    keys = _hashes(np.array([segment[:PREFIX] for segment in segments]))
    for low in range(0, len(text) - PREFIX + 1, _CHUNK):
        part = text[low : low + _CHUNK + PREFIX - 1]
        words = _hashes(np.lib.stride_tricks.sliding_window_view(part, PREFIX))
        begins = np.flatnonzero(pandas.Index(words).isin(keys))
        candidates = pandas.Series(begins).groupby(words[begins]).indices
        for query in np.flatnonzero(~apart):
            segment = segments[query]
            for place in low + begins[candidates.get(keys[query], [])]:
                document, stop = np.searchsorted(ends, place, side="right"), place + len(segment)
                if stop <= ends[document] and np.array_equal(text[place:stop], segment):
                    places[query], apart[query] = place, document != home[query]
                    if apart[query]:
                        break
    return places


def _hashes(words: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """A hash of each row of (N, `PREFIX`) tokens."""
    hashes = np.zeros(len(words), dtype=np.uint64)
    for column in words.T:
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64)
    return hashes
