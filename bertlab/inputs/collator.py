"""Rows to batches of arrays: specials are put in, and each loss adds its inputs and labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bertlab.inputs.formats import Rows, Text
from bertlab.recipe import Loss

Numbers = npt.NDArray[np.int64]
Integers = npt.NDArray[np.int32]

_STEP = 8
"""Trimmed widths are multiples of it: each new shape makes the matrix library compile its kernels anew."""


class Tokenizer(Protocol):
    """What batches need to know of a tokenizer."""

    @property
    def pad(self) -> int:
        """The id of [PAD]."""

    @property
    def cls(self) -> int:
        """The id of [CLS]."""

    @property
    def sep(self) -> int:
        """The id of [SEP]."""

    @property
    def mask(self) -> int:
        """The id of [MASK]."""

    @property
    def ordinary(self) -> Integers:
        """The ids of all but the special tokens."""

    @property
    def word_starts(self) -> npt.NDArray[np.bool_]:
        """(V,) whether each id can begin a word; the others continue one."""


@dataclass(frozen=True)
class Sequences:
    """B sequences of T tokens, as losses make their inputs and labels for them, one after the other."""

    tokens: Integers
    """(B, T) ids, contiguous; a loss may change them in place."""
    before: Integers
    """(B, N) ordinary tokens before each of the N inner [SEP]."""
    ordinary: Integers
    """(B,) ordinary tokens: all but [CLS], [SEP] and [PAD]."""
    lengths: Integers
    """(B,) tokens that are not padding."""
    random_second: Integers
    """(B,) as in a `Batch`."""
    order: Integers
    """(B,) as in a `Batch`."""
    rows: Numbers
    """(B,) as in a `Batch`."""
    epoch: int


@dataclass(frozen=True)
class Batch:
    """B sequences of T tokens."""

    tokens: Integers
    """(B, T) ids as shown to the backbone; [PAD] beyond a sequence's length."""
    segments: Integers
    """(B, T) 0 for the first segment with its specials, 1 for the second, 0 for padding."""
    lengths: Integers
    """(B,) tokens that are not padding."""
    random_second: Integers
    """(B,) 1 if the second segment is from another document, as in BERT; 0 if not, and where there is none."""
    order: Integers
    """(B,) 1 if the two segments, which follow each other, are exchanged, 0 if they are not and could be; -1 elsewhere:
    where segments are not exchanged at all, or the form of the pair would tell whether they are."""
    rows: Numbers
    """(B,) stable names of the sequences: the same name means the same tokens before any loss changes them. In the
    first epoch it is the offset of the first token that the sequence stands for."""
    epochs: Numbers
    """(B,) epoch in which each sequence is."""
    arrays: Mapping[str, Mapping[str, npt.NDArray[Any]]]
    """What each loss adds, by its kind. Where `weights` (B, K) are among its arrays, those of two axes have K slots, of
    which the first ones are used, with a weight above 0."""

    def map(self, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Batch:
        """The batch with every array changed."""
        own = {name: change(value) for name, value in vars(self).items() if name != "arrays"}
        return Batch(
            **own, arrays={kind: {n: change(v) for n, v in each.items()} for kind, each in self.arrays.items()}
        )

    def take(self, low: int, high: int) -> Batch:
        """The sequences from `low` up to `high`."""
        return self.map(lambda array: array[low:high])

    def trimmed(self) -> Batch:
        """The batch without the slots, and the columns beyond the next `_STEP`, that all its sequences leave empty."""
        width = min(-(-int(self.lengths.max()) // _STEP) * _STEP, self.tokens.shape[1])
        cut = {name: getattr(self, name)[:, :width].copy() for name in ("tokens", "segments")}
        return dataclasses.replace(self, **cut, arrays={kind: _used(each) for kind, each in self.arrays.items()})


def _used(arrays: Mapping[str, npt.NDArray[Any]]) -> Mapping[str, npt.NDArray[Any]]:
    """The arrays of a loss without the slots that no sequence uses."""
    if "weights" not in arrays:
        return arrays
    slots = int((arrays["weights"] > 0).sum(axis=1).max())
    return {name: array[:, :slots].copy() if array.ndim == 2 else array for name, array in arrays.items()}


class Collator:
    """Makes batches of T = `length` tokens a row out of rows' places in a text."""

    def __init__(
        self, objective: Sequence[Loss], tokenizer: Tokenizer, text: Text, length: int, seed: int | str
    ) -> None:
        self._examples = {loss.kind: loss.prepare(tokenizer, length, seed) for loss in objective}
        self._tokens = np.asarray(text.tokens)
        self._columns = np.arange(length)
        self._sep = tokenizer.sep
        # What stands at every offset as one item of a whole row: these are copied twice as fast as rows of an array.
        self._last = len(self._tokens) - length
        size = self._tokens.itemsize
        self._from_each = np.ndarray(max(self._last + 1, 0), f"V{length * size}", self._tokens, strides=(size,))
        # Masks as tables of rows by a column's number: a row is copied many times as fast as it is compared.
        number = np.arange(length + 1)[:, None]
        ordinary = (self._columns > 0) & (self._columns < number - 1)
        around = np.where(self._columns == number - 1, tokenizer.sep, tokenizer.pad)
        around[:, 0] = tokenizer.cls
        self._behind = self._bits(self._columns > number)
        self._within = self._bits(ordinary)
        self._around = np.where(ordinary, 0, around).astype(self._tokens.dtype)
        self._real = (self._columns < number).astype(self._tokens.dtype)

    def collate(self, rows: Rows, chosen: Numbers, copy: int, epoch: int) -> Batch:
        """The rows number `chosen` (B,) of `rows`, which is pass `copy`, as seen in pass `epoch`."""
        begins, before = rows.spans(chosen)
        ordinary = rows.first_length.take(chosen) + rows.second_length.take(chosen)
        lengths = ordinary + 2
        for column in before.T:
            lengths += column < ordinary

        text = self._from(begins[:, 0] - 1)
        separators = before + np.arange(1, before.shape[1] + 1, dtype=np.int32)
        behind = text[:0]
        for begin, separator in zip(begins.T[1:], separators.T, strict=True):
            behind = self._behind.take(separator, axis=0, mode="clip")
            other = self._from(begin - separator - 1)
            other ^= text
            other &= behind
            text ^= other
        text &= self._within.take(lengths, axis=0)
        text |= self._around.take(lengths, axis=0)
        tokens = text.astype(np.int32)
        ends = np.minimum(separators, lengths[:, None] - 1) + np.arange(0, tokens.size, tokens.shape[1])[:, None]
        tokens.reshape(-1)[ends] = self._sep

        names = rows.starts.take(chosen)
        names += copy * len(self._tokens)
        if len(rows.breaks) or not len(behind):
            segments = np.zeros(tokens.shape, dtype=np.int32)
        else:
            segments = (behind & self._real.take(lengths, axis=0)).astype(np.int32)
        random = rows.random.take(chosen).astype(np.int32)
        order = rows.order.take(chosen).astype(np.int32)
        made = Sequences(tokens, before, ordinary, lengths, random, order, names, epoch)
        return Batch(
            tokens=tokens,
            segments=segments,
            lengths=lengths,
            random_second=random,
            order=order,
            rows=names,
            epochs=np.full(len(chosen), epoch),
            arrays={kind: examples(made) for kind, examples in self._examples.items()},
        )

    def _from(self, places: Numbers) -> npt.NDArray[Any]:
        """What stands from each of `places` (B,) on, (B, T); anything where that is outside of the text."""
        if self._last < 0:
            return self._singly(places)
        nearest = places.clip(0, self._last)
        text: npt.NDArray[Any] = self._from_each[nearest].view(self._tokens.dtype).reshape(-1, len(self._columns))
        across = np.flatnonzero(nearest != places)
        if len(across):
            text[across] = self._singly(places[across])
        return text

    def _singly(self, places: Numbers) -> npt.NDArray[Any]:
        text: npt.NDArray[Any] = self._tokens.take(places[:, None] + self._columns, mode="clip")
        return text

    def _bits(self, flags: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
        """All bits of a token where `flags` are, and none elsewhere."""
        return np.where(flags, -1, 0).astype(self._tokens.dtype)


def joined(parts: Sequence[Batch]) -> Batch:
    """The sequences of several batches as one."""
    arrays = {
        kind: {name: np.concatenate([part.arrays[kind][name] for part in parts]) for name in each}
        for kind, each in parts[0].arrays.items()
    }
    names = [each.name for each in dataclasses.fields(Batch) if each.name != "arrays"]
    own: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Batch(**own, arrays=arrays)
