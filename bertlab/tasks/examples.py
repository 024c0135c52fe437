"""Encoded examples as sequences of word pieces, and their batches: of similar length, padded to the longest, which
speeds training up two- to ninefold, as most sequences of a task are far shorter than the maximum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bertlab import keyed
from bertlab.arrays import Array, Integer
from bertlab.recipe.multitask import Mixing

IGNORED = -100
"""The label of slots without a target."""
TaskBatch = Mapping[str, Any]
"""A batch of a task on a device: its sequences as `inputs`, a `TensorBatch`, unless their vectors were read before; its
`targets`; and the tensors that the kind of task reads besides."""
BUCKET = 32
"""Batches that are sorted by length together: more make lengths within a batch more even, and batches less random."""
WIDTH_STEP = 8
"""Widths of batches are multiples of it, unless `bertlab.adaptation.base.narrowed` gives a smaller one."""


@dataclass(frozen=True, kw_only=True)
class Examples:
    """E examples with W targets: one per sequence for classification, one per word for tagging. In multiple choice,
    `choices` consecutive sequences form an example with one target; elsewhere every sequence is an example."""

    sequences: list[Integer]
    """The ids of each of R sequences, special tokens included."""
    segment_b_start: Integer
    """(R,) the position where the second segment starts; at least the length of the sequence if there is none."""
    positions: list[Integer]
    """The positions, in their sequence, of the tokens that carry the targets of each of E examples."""
    targets: Array
    """(W,) labels, or the values of a regression."""
    example_index: Integer
    """(W,) the raw example (a sentence, a question) of the target; a long one becomes several encoded examples."""
    pad: int
    raw_count: int
    choices: int = 1
    width_step: int = WIDTH_STEP
    """What the widths of its batches are multiples of."""
    parts: Integer | None = None
    """(E,) the number of the task of each example in a mixture of tasks; None elsewhere."""

    @cached_property
    def lengths(self) -> Integer:
        """(E,) tokens of the longest sequence of each example."""
        lengths: Integer = sizes(self.sequences).reshape(-1, self.choices).max(1, initial=0)
        return lengths

    @cached_property
    def counts(self) -> Integer:
        """(E,) the number of targets of each example."""
        return sizes(self.positions)

    @cached_property
    def first_targets(self) -> Integer:
        """(E,) the index of the first target of each example."""
        return np.cumsum(self.counts) - self.counts

    def __len__(self) -> int:
        return len(self.positions)

    def ids(self) -> Integer:
        """The ids that its batches have, padding included, ascending."""
        return np.unique(np.concatenate([*self.sequences, [self.pad]]))

    def batch(self, examples: Integer) -> ExampleBatch:
        """The examples at these indices as one batch, padded to the longest or up to `width_step` - 1 tokens more."""
        indices = (examples[:, None] * self.choices + np.arange(self.choices)).ravel()
        sequences = [self.sequences[index] for index in indices]
        lengths, counts = sizes(sequences), self.counts[examples]
        tokens = padded(sequences, lengths, rounded(lengths, self.lengths, self.width_step), self.pad)
        column = np.arange(tokens.shape[1])
        second = (column < lengths[:, None]) & (column >= self.segment_b_start[indices][:, None])
        width = rounded(counts, self.counts, self.width_step)
        positions = padded([self.positions[index] for index in examples], counts, width, 0)
        slot = np.arange(width)
        dtype = np.float32 if np.issubdtype(self.targets.dtype, np.floating) else np.int32
        slots = np.where(slot < counts[:, None], self.first_targets[examples][:, None] + slot, -1)
        return ExampleBatch(
            tokens=tokens,
            segments=second.astype(np.int32),
            lengths=lengths.astype(np.int32),
            positions=positions,
            targets=np.where(slots < 0, IGNORED, self.targets[slots]).astype(dtype),
            slots=slots,
        )


@dataclass(frozen=True, kw_only=True)
class ExampleBatch:
    """B examples of `choices` sequences each, padded to T tokens, with K slots for targets."""

    tokens: Integer
    """(B choices, T) int32."""
    segments: Integer
    """(B choices, T) int32, 1 in the second segment."""
    lengths: Integer
    """(B choices,) int32 tokens of each sequence."""
    positions: Integer
    """(B, K) int32 the position of each target in its sequence; 0 in an empty slot."""
    targets: Array
    """(B, K) int32 labels or float32 values; `IGNORED` in an empty slot."""
    slots: Integer
    """(B, K) int64 the index of each target among all W; -1 in an empty slot."""


def rounded(counts: Integer, among: Integer, step: int = WIDTH_STEP) -> int:
    """The largest of `counts`, rounded up to a multiple of `step`, at most the largest of `among`."""
    return min(-(-int(counts.max()) // step) * step, int(among.max()))


def sizes(arrays: Sequence[Integer]) -> Integer:
    """The number of entries of each array."""
    return np.array([len(array) for array in arrays], np.int64)


def padded(arrays: Sequence[Integer], counts: Integer, width: int, filling: int) -> Integer:
    """Arrays of `counts` entries as the beginnings of the rows of one, int32."""
    filled = np.full((len(arrays), width), filling, np.int32)
    filled[np.arange(width) < counts[:, None]] = np.concatenate(arrays)
    return filled


def epoch(lengths: Integer, batch_size: int, *key: int | str, rows: Integer | None = None) -> list[Integer]:
    """The batches of one epoch as indices of examples, each once, or of `rows`, in an order drawn from `key`: examples
    are shuffled and sorted by length within buckets of `BUCKET` batches; then the batches are shuffled."""
    order: Integer = keyed.permutation(keyed.key("rows", *key), len(lengths) if rows is None else len(rows))
    order = order if rows is None else rows[order]
    batches: list[Integer] = []
    for start in range(0, len(order), batch_size * BUCKET):
        bucket = order[start : start + batch_size * BUCKET]
        bucket = bucket[np.argsort(lengths[bucket], kind="stable")]
        batches += [bucket[at : at + batch_size] for at in range(0, len(bucket), batch_size)]
    return [batches[at] for at in keyed.permutation(keyed.key("batches", *key), len(batches))]


def mixed(parts: Integer, mixing: Mixing, number: int, *key: int | str) -> Integer:
    """The examples of epoch `number` of a mixture of tasks, as many as there are: each task has its share of them, and
    passes over its own in an order drawn from `key` for each pass."""
    sizes = np.bincount(parts)
    counts = np.diff(np.round(np.cumsum([0.0, *mixing.rates(sizes.tolist())]) * len(parts)).astype(np.int64))
    rows: list[Integer] = []
    for part, (size, count) in enumerate(zip(sizes.tolist(), counts.tolist(), strict=True)):
        passes, within = np.divmod(number * count + np.arange(count), max(1, size))
        members = np.flatnonzero(parts == part)
        for one in np.unique(passes).tolist():
            order = keyed.permutation(keyed.key("mixed", *key, part, one), size)
            rows.append(members[order[within[passes == one]]])
    return np.concatenate(rows)


def by_length(lengths: Integer, tokens: int) -> list[Integer]:
    """All examples in batches of about `tokens` tokens, padding included, longest first: for evaluation."""
    order: Integer = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        count = max(1, tokens // max(1, rounded(lengths[order[start]][None], lengths)))
        batches.append(order[start : start + count])
        start += count
    return batches
