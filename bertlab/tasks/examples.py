"""Rows of word pieces as ragged arrays, and their batches: of similar length, cut to about the longest row.

Most rows of a task are far shorter than the maximum; padding each batch only to its own longest row, and putting rows
of similar length together, is worth a factor of two to nine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab import keyed

Integers = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]
Numbers = npt.NDArray[Any]

IGNORED = -100
"""The label of what is not to be predicted."""

BUCKET = 32
"""Batches that are sorted by length together; larger makes batches more even and their make-up less random."""


STEP = 8
"""Widths of batches are multiples of it: each new shape makes the matrix library compile its kernels anew."""


@dataclass(frozen=True, kw_only=True)
class Examples:
    """R rows of N word pieces in all, with W targets: one a row for classification, one a word for tagging.

    Of multiple choice, `choices` rows one after another make an example, which has the target; elsewhere every row is
    an example. E is the number of examples.
    """

    tokens: Integers
    """(N,) ids, row after row, specials included."""
    offsets: Integers
    """(R + 1,) where each row starts in `tokens`."""
    seconds: Integers
    """(R,) the position in its row where the second segment starts; at least the row's length if there is none."""
    places: Integers
    """(W,) the position in its row of the token that carries the target."""
    target_offsets: Integers
    """(E + 1,) where the targets of each example start."""
    targets: Numbers
    """(W,) labels, or the numbers of a regression."""
    owners: Integers
    """(W,) the row of the task (a sentence, a question) that the target is of; a long one takes several examples."""
    pad: int
    rows: int
    """Rows of the task that these are of."""
    choices: int = 1
    """Rows that make an example."""

    @classmethod
    def of(
        cls,
        rows: Sequence[Sequence[int] | Integers],
        *,
        seconds: Integers,
        places: Sequence[Integers],
        targets: Numbers,
        owners: Integers,
        pad: int,
        count: int,
    ) -> Examples:
        """Joins lists of ids and of places into the arrays."""
        nothing = np.zeros(0, np.int32)
        return cls(
            tokens=np.concatenate([nothing, *(np.asarray(row, np.int32) for row in rows)]),
            offsets=_offsets([len(row) for row in rows]),
            seconds=seconds,
            places=np.concatenate([nothing, *places]),
            target_offsets=_offsets([len(each) for each in places]),
            targets=targets,
            owners=np.asarray(owners, np.int64),
            pad=pad,
            rows=count,
        )

    @property
    def lengths(self) -> Integers:
        """(E,) tokens of each example, of its longest row."""
        lengths: Integers = np.diff(self.offsets).reshape(-1, self.choices).max(1, initial=0)
        return lengths

    def __len__(self) -> int:
        return len(self.target_offsets) - 1

    def batch(self, examples: Integers) -> Batch:
        """The examples of these numbers as one padded batch, cut to the longest of them or a little above."""
        rows = (examples[:, None] * self.choices + np.arange(self.choices)).ravel()
        starts, lengths = self.offsets[rows], np.diff(self.offsets)[rows]
        longest = _rounded(lengths, self.lengths)
        column = np.arange(longest)
        real = column < lengths[:, None]
        tokens = np.where(real, self.tokens[np.where(real, starts[:, None] + column, 0)], self.pad)
        all_counts = np.diff(self.target_offsets)
        counts = all_counts[examples]
        real_slot = np.arange(_rounded(counts, all_counts)) < counts[:, None]
        slots = np.where(real_slot, self.target_offsets[examples][:, None] + np.arange(real_slot.shape[1]), 0)
        return Batch(
            tokens=tokens.astype(np.int32),
            segments=(real & (column >= self.seconds[rows][:, None])).astype(np.int32),
            lengths=lengths.astype(np.int32),
            positions=np.where(real_slot, self.places[slots], 0).astype(np.int32),
            targets=np.where(real_slot, self.targets[slots], IGNORED).astype(_compact(self.targets)),
            slots=np.where(real_slot, slots, -1),
        )


@dataclass(frozen=True, kw_only=True)
class Batch:
    """B examples of `choices` rows each, padded to T tokens, with K slots for targets."""

    tokens: Integers
    """(B choices, T) int32."""
    segments: Integers
    """(B choices, T) int32, 1 in the second segment."""
    lengths: Integers
    """(B choices,) int32 tokens of each row."""
    positions: Integers
    """(B, K) int32 where in its row a target is; 0 in an empty slot."""
    targets: Numbers
    """(B, K) int32 labels or float32 numbers; `IGNORED` in an empty slot."""
    slots: Integers
    """(B, K) int64 numbers of the targets among all W; -1 in an empty slot."""


def _rounded(sizes: Integers, among: Integers) -> int:
    """The largest of `sizes` as a multiple of `STEP`, but no larger than the largest `among` all."""
    return min(-(-int(sizes.max()) // STEP) * STEP, int(among.max()))


def _compact(targets: Numbers) -> npt.DTypeLike:
    return np.float32 if np.issubdtype(targets.dtype, np.floating) else np.int32


def _offsets(lengths: Sequence[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def epoch(lengths: Integers, batch: int, *key: int | str) -> list[Integers]:
    """The rows of each batch of one pass, every row once, in an order drawn from `key`.

    Rows are shuffled, sorted by length within stretches of `BUCKET` batches, and the batches shuffled again.
    """
    rows = keyed.permutation(keyed.key("rows", *key), len(lengths))
    batches: list[Integers] = []
    for start in range(0, len(rows), batch * BUCKET):
        stretch = rows[start : start + batch * BUCKET]
        stretch = stretch[np.argsort(lengths[stretch], kind="stable")]
        batches += [stretch[at : at + batch] for at in range(0, len(stretch), batch)]
    return [batches[at] for at in keyed.permutation(keyed.key("batches", *key), len(batches))]


def by_length(lengths: Integers, tokens: int) -> list[Integers]:
    """All rows in batches of about `tokens` tokens with padding, the longest first: for evaluation."""
    order: Integers = np.argsort(-lengths, kind="stable")
    batches = []
    start = 0
    while start < len(order):
        count = max(1, tokens // max(1, _rounded(lengths[order[start]][None], lengths)))
        batches.append(order[start : start + count])
        start += count
    return batches
