"""Finds segments in a text by what they contain."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab.inputs.audit.checks import Flags, Numbers

_PREFIX = 8
"""Tokens of a segment by whose hash candidates are found; then all of it is compared."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_CHUNK = 1 << 22
"""Tokens of the text that are looked at together."""
_BITS = np.uint64(0xFFFFF)


def elsewhere(
    text: npt.NDArray[Any], ends: Numbers, wanted: Numbers, sizes: Numbers, home: Numbers
) -> tuple[Numbers, Flags]:
    """Where each of Q segments stands in a document other than `home` (Q,), -1 if it does not, (Q,); and whether it
    stands in any document, (Q,).

    `wanted` (Q, T) are the ids of segments of `sizes` (Q,) tokens; `ends` (D,) the offsets where documents end.
    """
    places = np.full(len(wanted), -1, dtype=np.int64)
    known = np.zeros(len(wanted), dtype=np.bool_)
    prefix = np.minimum(sizes, _PREFIX)
    for low in range(0, len(text), _CHUNK):
        part = np.concatenate([text[low : low + _CHUNK + _PREFIX], np.zeros(_PREFIX, text.dtype)]).astype(np.uint64)
        count = min(_CHUNK, len(text) - low)
        words = np.zeros(count, dtype=np.uint64)
        keys = np.zeros(len(wanted), dtype=np.uint64)
        for size in range(1, _PREFIX + 1):
            words = _extended(words, part[size - 1 : size - 1 + count])
            open_ = np.flatnonzero((prefix == size) & (places < 0))
            keys = _extended(keys, wanted[:, size - 1].astype(np.uint64))
            if len(open_):
                begins, first, last = _candidates(words, keys[open_])
                _compare(text, ends, wanted, sizes, home, open_, low + begins, first, last, places, known)
    return places, known


def _extended(words: npt.NDArray[np.uint64], tokens: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    return (words + tokens + np.uint64(1)) * _FACTOR ^ (words >> np.uint64(29))


def _candidates(
    words: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64]
) -> tuple[Numbers, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where `words` are among `keys`, sorted by key, and for each key the first and last of its places in that."""
    present = np.zeros(int(_BITS) + 1, dtype=np.bool_)
    present[keys >> np.uint64(40) & _BITS] = True
    begins = np.flatnonzero(present[words >> np.uint64(40) & _BITS])
    begins = begins[np.isin(words[begins], keys)]
    begins = begins[np.argsort(words[begins], kind="stable")]
    found = words[begins]
    return begins, np.searchsorted(found, keys, "left"), np.searchsorted(found, keys, "right")


def _compare(
    text: npt.NDArray[Any],
    ends: Numbers,
    wanted: Numbers,
    sizes: Numbers,
    home: Numbers,
    queries: npt.NDArray[np.intp],
    begins: Numbers,
    first: npt.NDArray[np.intp],
    last: npt.NDArray[np.intp],
    places: Numbers,
    known: Flags,
) -> None:
    """Compares each query with its candidates, one after the other, until one stands elsewhere; notes what it finds."""
    columns = np.arange(wanted.shape[1])
    while len(queries := queries[alive := first < last]):
        first, last = first[alive], last[alive]
        at = begins[first]
        size = sizes[queries]
        same = (text.take(at[:, None] + columns, mode="clip") == wanted[queries]) | (columns >= size[:, None])
        document = np.searchsorted(ends, at, side="right")
        within = same.all(axis=1) & (at + size <= ends[document])
        known[queries[within]] = True
        away = within & (document != home[queries])
        places[queries[away]] = at[away]
        queries, first, last = queries[~away], first[~away] + 1, last[~away]
