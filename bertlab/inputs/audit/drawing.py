"""Draws batches as training sees them, a pass over the data at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from bertlab.inputs.audit.checks import Flags, Numbers
from bertlab.inputs.collator import Batch, joined
from bertlab.progress import stop_if_asked

Source = Callable[[int], Batch]
"""Gives batch number s of a training."""


@dataclass(frozen=True)
class Steps:
    """N batches as they came."""

    numbers: Numbers
    """(N,) the step of each."""
    rows: Numbers
    """(N,) sequences in each."""
    tokens: Numbers
    """(N,) tokens in each, padding not."""
    widths: Numbers
    """(N,) columns of each, padding included."""
    longest: Numbers
    """(N,) tokens of the longest row of each."""

    def name(self, batch: int) -> str:
        """What a person calls one of them."""
        return f"step {self.numbers[batch]}"


@dataclass(frozen=True)
class Drawn:
    """R rows of one pass in the order in which they come, padded to T columns and K slots."""

    batch: Batch
    step: Numbers
    """(R,) the batch in which each row is."""
    number: Numbers
    """(R,) its number in it."""
    steps: Steps
    whole: bool
    """Whether these are all the rows of the pass."""

    def name(self, row: int) -> str:
        """What a person calls a row."""
        return f"step {self.step[row]}, row {self.number[row]}"

    def chosen(self, kind: str) -> Flags:
        """(R, T) whether the loss `kind` predicts each token."""
        arrays = self.batch.arrays[kind]
        rows, slots = np.nonzero(arrays["weights"] > 0)
        chosen: Flags = np.zeros(self.batch.tokens.shape, dtype=np.bool_)
        columns = arrays["positions"][rows, slots]
        chosen[rows, columns.clip(0, chosen.shape[1] - 1)] = True
        return chosen


def draw(source: Source, epoch: int, first: int, until: int | None, most: int) -> Drawn | None:
    """The rows of pass `epoch`, from where it begins until it ends or has given `most` tokens, padding included.

    Only of steps from `first` up to `until` (None: without end). None if the pass is not reached.
    """
    start = _begin(source, epoch, first, until)
    if start is None:
        return None
    batches: list[Batch] = []
    tokens = 0
    step = start
    while tokens < most and (until is None or step < until) and not (batches and batches[-1].epochs.max() > epoch):
        stop_if_asked()
        batches.append(source(step))
        tokens += batches[-1].tokens.size
        step += 1
    sizes = [len(batch.rows) for batch in batches]
    columns = max(batch.tokens.shape[1] for batch in batches)
    slots = {
        (kind, name): max(batch.arrays[kind][name].shape[1] for batch in batches)
        for kind, arrays in batches[0].arrays.items()
        for name, array in arrays.items()
        if array.ndim == 2
    }
    rows = joined([_widened(batch, columns, slots) for batch in batches])
    kept = np.flatnonzero(rows.epochs == epoch)
    return Drawn(
        batch=rows.map(lambda array: array[kept]),
        step=np.repeat(np.arange(start, step), sizes)[kept],
        number=np.concatenate([np.arange(size) for size in sizes])[kept],
        steps=Steps(
            numbers=np.arange(start, step),
            rows=np.array(sizes),
            tokens=np.array([int(batch.lengths.sum()) for batch in batches]),
            widths=np.array([batch.tokens.shape[1] for batch in batches]),
            longest=np.array([int(batch.lengths.max()) for batch in batches]),
        ),
        whole=bool(rows.epochs.max() > epoch),
    )


def _begin(source: Source, epoch: int, first: int, until: int | None) -> int | None:
    """The first step with a row of pass `epoch`, by bisection; passes come one behind the other."""

    def reached(step: int) -> bool:
        return bool(source(step).epochs.max() >= epoch)

    low, high = first, first + 1
    while not reached(high - 1):
        if until is not None and high >= until:
            return None
        low, high = high, first + 2 * (high - first)
        high = high if until is None else min(high, until)
    while low < high - 1:
        middle = (low + high - 1) // 2
        low, high = (low, middle + 1) if reached(middle) else (middle + 1, high)
    return low


def _widened(batch: Batch, columns: int, slots: Mapping[tuple[str, str], int]) -> Batch:
    """A trimmed batch as it was before; -1 in place of the tokens of its columns."""

    def wide(array: np.ndarray, size: int, value: int = 0) -> np.ndarray:
        room = np.full((len(array), max(0, size - array.shape[1])), value, dtype=array.dtype)
        return np.concatenate([array, room], axis=1)

    return dataclasses.replace(
        batch,
        tokens=wide(batch.tokens, columns, -1),
        segments=wide(batch.segments, columns),
        arrays={
            kind: {
                name: wide(array, slots[kind, name]) if (kind, name) in slots else array for name, array in each.items()
            }
            for kind, each in batch.arrays.items()
        },
    )
