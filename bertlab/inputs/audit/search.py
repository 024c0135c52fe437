"""Finds segments in a text by what they contain."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab.inputs.audit.checks import Flags, Numbers

Words = npt.NDArray[np.uint64]

_PREFIX = 8
"""Tokens of a segment by whose hash candidates are found; then all of it is compared."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_CHUNK = 1 << 22
"""Tokens of the text that are looked at together."""


def elsewhere(
    text: npt.NDArray[Any], ends: Numbers, wanted: Numbers, sizes: Numbers, home: Numbers
) -> tuple[Numbers, Flags]:
    """Where each of Q segments stands in a document other than `home` (Q,), -1 if it does not, (Q,); and whether it
    stands in any document, (Q,).

    `wanted` (Q, T) are the ids of segments of `sizes` (Q,) tokens; `ends` (D,) the offsets where documents end.
    """
    places = np.full(len(wanted), -1, dtype=np.int64)
    known = np.zeros(len(wanted), dtype=np.bool_)
    prefix, columns = np.minimum(sizes, _PREFIX), np.arange(wanted.shape[1])
    for low in range(0, len(text), _CHUNK):
        part = np.append(text[low : low + _CHUNK + _PREFIX], np.zeros(_PREFIX, text.dtype))
        words = np.zeros(min(_CHUNK, len(text) - low), dtype=np.uint64)
        keys = np.zeros(len(wanted), dtype=np.uint64)
        for size in range(1, min(_PREFIX, wanted.shape[1]) + 1):
            words = _extended(words, part[size - 1 : size - 1 + len(words)])
            keys = _extended(keys, wanted[:, size - 1])
            queries = np.flatnonzero((prefix == size) & (places < 0))
            begins, first, last = _candidates(words, keys[queries])
            # Each query is compared with its candidates one after the other, until one stands elsewhere.
            while len(queries := queries[left := first < last]):
                first, last = first[left], last[left]
                at, length = low + begins[first], sizes[queries]
                same = text.take(at[:, None] + columns, mode="clip") == wanted[queries]
                document = np.searchsorted(ends, at, side="right")
                within = (same | (columns >= length[:, None])).all(axis=1) & (at + length <= ends[document])
                known[queries[within]] = True
                away = within & (document != home[queries])
                places[queries[away]] = at[away]
                queries, first, last = queries[~away], first[~away] + 1, last[~away]
    return places, known


def _extended(words: Words, tokens: npt.NDArray[Any]) -> Words:
    """Hashes of sequences that are one token longer."""
    return (words + tokens.astype(np.uint64) + np.uint64(1)) * _FACTOR ^ (words >> np.uint64(29))


def _candidates(words: Words, keys: Words) -> tuple[Numbers, Numbers, Numbers]:
    """Where `words` are among `keys`, sorted by key; and for each key the first of its places in that, and the end."""
    bits = np.uint64(0xFFFFF)
    present = np.zeros(int(bits) + 1, dtype=np.bool_)  # most words are ruled out by some of their bits
    present[keys >> np.uint64(40) & bits] = True
    begins = np.flatnonzero(present[words >> np.uint64(40) & bits])
    begins = begins[np.argsort(words[begins], kind="stable")]
    found = words[begins]
    return begins, np.searchsorted(found, keys, "left"), np.searchsorted(found, keys, "right")
