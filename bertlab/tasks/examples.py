"""Encoded examples as ragged arrays of word pieces, and their batches: of similar length, padded to the longest.

Most sequences of a task are far shorter than the maximum. Padding each batch only to its own longest sequence, and
batching sequences of similar length, speeds training up two- to ninefold.
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
"""The label of slots without a target."""

BUCKET = 32
"""Batches that are sorted by length together: more make lengths within a batch more even, and batches less random."""

WIDTH_STEP = 8
"""Widths of batches are multiples of it: the matrix library compiles new kernels for each new shape."""


@dataclass(frozen=True, kw_only=True)
class Examples:
    """E examples with W targets: one per sequence for classification, one per word for tagging.

    They hold R sequences of N tokens in total. In multiple choice, `choices` consecutive sequences form an example with
    one target; elsewhere every sequence is an example.
    """

    tokens: Integers
    """(N,) ids, sequence after sequence, special tokens included."""
    offsets: Integers
    """(R + 1,) where each sequence starts in `tokens`."""
    second_starts: Integers
    """(R,) the position where the second segment starts; at least the length of the sequence if there is none."""
    positions: Integers
    """(W,) the position of the token that carries the target, in its sequence."""
    target_offsets: Integers
    """(E + 1,) where the targets of each example start."""
    targets: Numbers
    """(W,) labels, or the values of a regression."""
    owners: Integers
    """(W,) the raw example (a sentence, a question) of the target; a long one becomes several encoded examples."""
    pad: int
    raw_count: int
    """The number of raw examples."""
    choices: int = 1
    """Sequences per example."""

    @classmethod
    def of(
        cls,
        sequences: Sequence[Sequence[int] | Integers],
        *,
        second_starts: Integers,
        positions: Sequence[Integers],
        targets: Numbers,
        owners: Integers,
        pad: int,
        raw_count: int,
    ) -> Examples:
        """Joins the ids of each sequence, and the positions of its targets, into the arrays."""
        nothing = np.zeros(0, np.int32)
        return cls(
            tokens=np.concatenate([nothing, *(np.asarray(sequence, np.int32) for sequence in sequences)]),
            offsets=_offsets([len(sequence) for sequence in sequences]),
            second_starts=second_starts,
            positions=np.concatenate([nothing, *positions]),
            target_offsets=_offsets([len(each) for each in positions]),
            targets=targets,
            owners=np.asarray(owners, np.int64),
            pad=pad,
            raw_count=raw_count,
        )

    @property
    def lengths(self) -> Integers:
        """(E,) tokens of the longest sequence of each example."""
        lengths: Integers = np.diff(self.offsets).reshape(-1, self.choices).max(1, initial=0)
        return lengths

    def __len__(self) -> int:
        return len(self.target_offsets) - 1

    def batch(self, examples: Integers) -> Batch:
        """The examples at these indices as one batch, padded to the longest or up to `WIDTH_STEP` - 1 tokens more."""
        sequences = (examples[:, None] * self.choices + np.arange(self.choices)).ravel()
        starts, lengths = self.offsets[sequences], np.diff(self.offsets)[sequences]
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
            segments=(real & (column >= self.second_starts[sequences][:, None])).astype(np.int32),
            lengths=lengths.astype(np.int32),
            positions=np.where(real_slot, self.positions[slots], 0).astype(np.int32),
            targets=np.where(real_slot, self.targets[slots], IGNORED).astype(_compact(self.targets)),
            slots=np.where(real_slot, slots, -1),
        )


@dataclass(frozen=True, kw_only=True)
class Batch:
    """B examples of `choices` sequences each, padded to T tokens, with K slots for targets."""

    tokens: Integers
    """(B choices, T) int32."""
    segments: Integers
    """(B choices, T) int32, 1 in the second segment."""
    lengths: Integers
    """(B choices,) int32 tokens of each sequence."""
    positions: Integers
    """(B, K) int32 the position of each target in its sequence; 0 in an empty slot."""
    targets: Numbers
    """(B, K) int32 labels or float32 values; `IGNORED` in an empty slot."""
    slots: Integers
    """(B, K) int64 the index of each target among all W; -1 in an empty slot."""


def _rounded(sizes: Integers, among: Integers) -> int:
    """The largest of `sizes`, rounded up to a multiple of `WIDTH_STEP`, at most the largest of `among`."""
    return min(-(-int(sizes.max()) // WIDTH_STEP) * WIDTH_STEP, int(among.max()))


def _compact(targets: Numbers) -> npt.DTypeLike:
    return np.float32 if np.issubdtype(targets.dtype, np.floating) else np.int32


def _offsets(lengths: Sequence[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def epoch(lengths: Integers, batch_size: int, *key: int | str) -> list[Integers]:
    """The batches of one epoch as indices of examples, each once, in an order drawn from `key`.

    Examples are shuffled and sorted by length within buckets of `BUCKET` batches; then the batches are shuffled.
    """
    order = keyed.permutation(keyed.key("rows", *key), len(lengths))
    batches: list[Integers] = []
    for start in range(0, len(order), batch_size * BUCKET):
        bucket = order[start : start + batch_size * BUCKET]
        bucket = bucket[np.argsort(lengths[bucket], kind="stable")]
        batches += [bucket[at : at + batch_size] for at in range(0, len(bucket), batch_size)]
    return [batches[at] for at in keyed.permutation(keyed.key("batches", *key), len(batches))]


def by_length(lengths: Integers, tokens: int) -> list[Integers]:
    """All examples in batches of about `tokens` tokens, padding included, longest first: for evaluation."""
    order: Integers = np.argsort(-lengths, kind="stable")
    batches = []
    start = 0
    while start < len(order):
        count = max(1, tokens // max(1, _rounded(lengths[order[start]][None], lengths)))
        batches.append(order[start : start + count])
        start += count
    return batches
