"""Rows to batches of arrays: specials are put in, and what is to be predicted is chosen."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bertlab import recipe as recipes
from bertlab.inputs.formats import Rows, Text
from bertlab.inputs.masking import Masks, Vocabulary

Numbers = npt.NDArray[np.int64]
Integers = npt.NDArray[np.int32]
Weights = npt.NDArray[np.float32]

_STEP = 8
"""Trimmed widths are multiples of it: each new shape makes the matrix library compile its kernels anew."""


class Tokenizer(Vocabulary, Protocol):
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


@dataclass(frozen=True)
class Batch:
    """B rows of T tokens with K prediction slots each."""

    tokens: Integers
    """(B, T) ids as shown to the encoder; [PAD] beyond a row's length."""
    segments: Integers
    """(B, T) 0 for the first segment with its specials, 1 for the second, 0 for padding."""
    lengths: Integers
    """(B,) tokens that are not padding."""
    positions: Integers
    """(B, K) positions of the predicted tokens; 0 where the weight is 0."""
    targets: Integers
    """(B, K) ids to predict there; 0 where the weight is 0."""
    weights: Weights
    """(B, K) 1 for a predicted token, 0 for an empty slot."""
    next_sentence: Integers
    """(B,) 0 if the second segment follows the first, 1 if it is random, as in BERT; 0 where there is none."""
    rows: Numbers
    """(B,) stable names of the rows: the same name means the same tokens before masking. In the first pass it is the
    offset of the first token that the row stands for."""
    epochs: Numbers
    """(B,) pass over the data in which each row is."""

    def take(self, low: int, high: int) -> Batch:
        """The rows from `low` up to `high`."""
        return Batch(**{name: array[low:high] for name, array in vars(self).items()})

    def trimmed(self) -> Batch:
        """The batch without the slots that all its rows leave empty, and columns, but for those to the next `_STEP`."""
        width = min(-(-int(self.lengths.max()) // _STEP) * _STEP, self.tokens.shape[1])
        slots = int((self.weights > 0).sum(axis=1).max())
        cut = {"tokens": width, "segments": width, "positions": slots, "targets": slots, "weights": slots}
        return dataclasses.replace(self, **{name: getattr(self, name)[:, :size].copy() for name, size in cut.items()})


class Collator:
    """Makes batches of T = `length` tokens a row out of rows' places in a text."""

    def __init__(
        self, masking: recipes.Masking | None, tokenizer: Tokenizer, text: Text, length: int, seed: int | str
    ) -> None:
        """Without `masking`, each token of a row but the first is predicted, from left to right."""
        self._masks = None if masking is None else Masks(masking, tokenizer, length, seed)
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
        if self._masks is None:
            positions, targets, weights = _next_tokens(tokens, lengths)
        else:
            keys = self._masks.keys(names, epoch)
            positions, targets, weights = self._masks.apply(tokens, before, ordinary, keys)
        if len(rows.breaks) or not len(behind):
            segments = np.zeros(tokens.shape, dtype=np.int32)
        else:
            segments = (behind & self._real.take(lengths, axis=0)).astype(np.int32)
        return Batch(
            tokens=tokens,
            segments=segments,
            lengths=lengths,
            positions=positions,
            targets=targets,
            weights=weights,
            next_sentence=rows.random.take(chosen).astype(np.int32),
            rows=names,
            epochs=np.full(len(chosen), epoch),
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


def _next_tokens(tokens: npt.NDArray[Any], lengths: Integers) -> tuple[Integers, Integers, Weights]:
    """Positions, targets and weights, each (B, T - 1), of predicting each token from those before it.

    As in GPT: [CLS] predicts the first token, and each [SEP] is predicted too; the last [SEP] predicts nothing.
    """
    columns = np.arange(tokens.shape[1] - 1, dtype=np.int32)
    real = columns < lengths[:, None] - 1
    return columns * real, tokens[:, 1:].astype(np.int32) * real, real.astype(np.float32)


def joined(parts: list[Batch]) -> Batch:
    """The rows of several batches as one."""
    names: list[str] = [each.name for each in dataclasses.fields(Batch)]
    arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Batch(**arrays)
