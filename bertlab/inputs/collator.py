"""Collates sequences into batches of arrays: adds the special tokens, then the inputs and labels of each loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bertlab.arrays import Array, Int32, Int64, UInt8
from bertlab.errors import ArmFailed, BadInput
from bertlab.inputs.formats.base import Layout
from bertlab.names import shown
from bertlab.recipe import Loss
from bertlab.recipe.objective import Arrays
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import Part

_STEP = 8
"""Trimmed widths are multiples of it: for each new shape the matrix library compiles its kernels anew."""


@dataclass(frozen=True)
class Sequences:
    """B sequences of T tokens, from which the losses make their inputs and labels, one after the other."""

    tokens: Int32
    """(B, T) ids, contiguous; a loss may change them in place."""
    before: Int32
    """(B, N) ordinary tokens before each of the N inner [SEP]."""
    ordinary: Int32
    """(B,) ordinary tokens: all but [CLS], [SEP] and [PAD]."""
    lengths: Int32
    """(B,) tokens that are not padding."""
    random_second: Int32
    """(B,) 1 if the second segment is from another document, as in the `Batch`."""
    order: Int32
    """(B,) 1 if the two segments are exchanged, as in the `Batch`."""
    sequence_ids: Int64
    """(B,) equal ids mean equal tokens before any loss changes them, as in the `Batch`."""
    epoch: int
    """The one epoch of all B sequences, from 0."""
    arrays: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    """What the losses before have added, by their kind."""
    marks: UInt8 = field(default_factory=lambda: np.zeros((0, 0), dtype=np.uint8))
    """(B, T) the linguistic spans that each ordinary token is in, as `text.annotation` marks them; empty if no loss
    reads them."""


@dataclass(frozen=True)
class Batch:
    """B sequences of T tokens."""

    tokens: Int32
    """(B, T) input ids; [PAD] beyond a sequence's length."""
    segments: Int32
    """(B, T) 0 for the first segment with its specials, 1 for the second, 0 for padding."""
    lengths: Int32
    """(B,) tokens that are not padding."""
    random_second: Int32
    """(B,) 1 if the second segment is from another document, as in BERT; 0 if it is not, or if there is none."""
    order: Int32
    """(B,) 1 if the two segments, which follow each other in the text, are exchanged, 0 if they are not but could be;
    -1 if segments are never exchanged, or if the form of the pair would reveal the order."""
    sequence_ids: Int64
    """(B,) equal ids mean equal tokens before any loss changes them. In the first epoch the id is the offset in the
    text of the first token that the sequence stands for."""
    epochs: Int64
    """(B,) the epoch of each sequence."""
    arrays: Mapping[str, Mapping[str, Array]]
    """What each loss adds, by its kind. If a loss adds `weights` (B, K), its arrays of two axes have K slots; the first
    ones are used and have a weight above 0."""

    def map(self, change: Callable[..., Array], *others: Batch) -> Batch:
        """The batch with each array changed: `change` maps it, and the same array of each of the `others`, to one."""
        batches = (self, *others)
        own = {name: change(*(getattr(each, name) for each in batches)) for name in vars(self) if name != "arrays"}
        arrays = {
            kind: {name: change(*(each.arrays[kind][name] for each in batches)) for name in added}
            for kind, added in self.arrays.items()
        }
        return Batch(**own, arrays=arrays)

    def take(self, low: int, high: int) -> Batch:
        """The sequences from `low` up to `high`."""
        return self.map(lambda array: array[low:high])

    def trimmed(self) -> Batch:
        """The batch without the slots, and the columns beyond the next `_STEP`, that all its sequences leave empty."""
        width = min(-(-int(self.lengths.max()) // _STEP) * _STEP, self.tokens.shape[1])
        cut = {name: getattr(self, name)[:, :width].copy() for name in ("tokens", "segments")}
        arrays = dict(self.arrays)
        for kind, added in self.arrays.items():
            if "weights" in added:
                slots = int((added["weights"] > 0).sum(axis=1).max())
                used = {name: array[:, :slots].copy() for name, array in added.items() if array.ndim == 2}
                arrays[kind] = {**added, **used}
        return dataclasses.replace(self, **cut, arrays=arrays)


def joined(parts: Sequence[Batch]) -> Batch:
    """The sequences of several batches as one, padded with zeros to the widest."""

    def join(*arrays: Array) -> Array:
        if arrays[0].ndim == 2:
            width = max(array.shape[1] for array in arrays)
            arrays = tuple(np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in arrays)
        return np.concatenate(arrays)

    return parts[0].map(join, *parts[1:])


class Collator:
    """Makes batches of width T = `length` from the places of sequences in a text."""

    def __init__(
        self, objective: Sequence[Loss], tokenizer: TrainedTokenizer, text: Part, length: int, seed: int | str
    ) -> None:
        self._examples = {
            loss.kind: _checked(loss, loss.prepare(tokenizer, length, seed), tokenizer) for loss in objective
        }
        self._tokenizer, self._size = tokenizer, len(text.tokens)
        self._text, self._marks = _Text(np.asarray(text.tokens), length), None
        if any(loss.annotated for loss in objective):
            if text.marks is None:
                raise BadInput(
                    "the corpus has no linguistic spans, which the masked LM selects: prepare it for this recipe"
                )
            self._marks = _Text(np.asarray(text.marks), length)

    def collate(self, layout: Layout, chosen: Int64, copy: int, epoch: int) -> Batch:
        """The sequences number `chosen` (B,) of `layout`, which is that of `copy`, as they are in `epoch`."""
        begins, before = layout.spans(chosen)
        ordinary = layout.first_length.take(chosen) + layout.second_length.take(chosen)
        lengths = ordinary + 2
        for column in before.T:
            lengths += column < ordinary
        separators = before + np.arange(1, before.shape[1] + 1, dtype=np.int32)

        text, behind = self._text.joined(begins, separators)
        beyond = self._text.behind.take(lengths - 1, axis=0)
        text[:, 0] = self._tokenizer.cls
        text ^= (text ^ self._tokenizer.pad) & beyond
        tokens = text.astype(np.int32)
        ends = np.minimum(np.append(separators, lengths[:, None], axis=1), lengths[:, None] - 1)
        tokens.reshape(-1)[ends + np.arange(0, tokens.size, tokens.shape[1])[:, None]] = self._tokenizer.sep
        segments = np.zeros(tokens.shape, np.int32) if len(layout.breaks) else (behind & ~beyond & 1).astype(np.int32)

        ids = layout.starts.take(chosen) + copy * self._size
        random, order = (each.take(chosen).astype(np.int32) for each in (layout.random, layout.order))
        arrays: dict[str, Mapping[str, Array]] = {}
        made = Sequences(tokens, before, ordinary, lengths, random, order, ids, epoch, arrays)
        if self._marks is not None:
            made = dataclasses.replace(made, marks=self._marks.joined(begins, separators)[0])
        for kind, examples in self._examples.items():
            arrays[kind] = examples(made)
        return Batch(tokens, segments, lengths, random, order, ids, np.full(len(chosen), epoch), arrays)


def _checked(
    loss: Loss, examples: Callable[[Sequences], Arrays], tokenizer: TrainedTokenizer
) -> Callable[[Sequences], Arrays]:
    """The function that a loss prepared; that of a study file raises `ArmFailed` for what a batch cannot hold."""
    if not callable(examples):
        raise ArmFailed.of(loss, "prepare", f"returns {shown(examples)}: return a function that returns arrays by name")
    if not loss._own:
        return examples

    def checked(sequences: Sequences) -> Arrays:
        arrays = examples(sequences)
        if problem := _problem(loss, arrays, sequences.tokens, tokenizer.size):
            raise ArmFailed.of(loss, "prepare", problem)
        return arrays

    return checked


def _problem(loss: Loss, arrays: Any, tokens: Int32, vocabulary: int) -> str:
    """What is wrong with the arrays of a loss, and with the `tokens` (B, T) that it leaves; empty if nothing is."""
    if not isinstance(arrays, Mapping):
        return f"makes {shown(arrays)}: let its function return arrays by name"
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iubf" or array.shape[:1] != tokens.shape[:1]:
            found = f"of shape {array.shape}, {array.dtype}" if isinstance(array, np.ndarray) else shown(array)
            return (
                f"makes {name} {found}: give an array of numbers whose first axis is over the {len(tokens)} sequences"
            )
    bounds = [("tokens", tokens, vocabulary)]
    if loss.over_vocabulary and "targets" in arrays:
        bounds.append(("targets", arrays["targets"], vocabulary))
    if type(loss).positions is Loss.positions:
        if "positions" not in arrays:
            return "makes no positions: give those at which it reads the model, (B, K), or define positions"
        bounds.append(("positions", arrays["positions"], tokens.shape[1]))
    for name, values, end in bounds:
        if values.dtype.kind not in "iu":
            return f"makes {name} of {values.dtype}: give whole numbers, as int32"
        if values.size and not 0 <= values.min() <= values.max() < end:
            return f"makes {name} from {values.min()} to {values.max()}: give 0 to {end - 1}"
    return _problem_of_weights(arrays) if "weights" in arrays else ""


def _problem_of_weights(arrays: Arrays) -> str:
    """What is wrong with the weights of the K slots of each sequence, and with arrays of other slots."""
    weights = arrays["weights"]
    if weights.ndim != 2 or not (np.isfinite(weights) & (weights >= 0)).all():
        return "makes weights that no batch can hold: give (B, K) finite numbers, 0 in slots that are not used"
    if ((weights[:, 1:] > 0) > (weights[:, :-1] > 0)).any():
        return "makes weights with unused slots between used ones: let the used slots of a sequence come first"
    for name, array in arrays.items():
        if array.ndim == 2 and array.shape[1] != weights.shape[1]:
            return f"makes {name} of {array.shape[1]} slots and weights of {weights.shape[1]}: give as many"
    return ""


class _Text:
    """An array with a value for each token of a text, from which sequences of T tokens are put together."""

    def __init__(self, values: Array, length: int) -> None:
        # a text longer than that stays on the disk
        self._values = values if len(values) >= length else np.pad(values, (0, length - len(values)))
        # The T values from each offset on, as one item: NumPy copies items twice as fast as the same bytes of an array.
        self._last = len(self._values) - length
        size = self._values.itemsize
        self._from_each = np.ndarray(self._last + 1, f"V{length * size}", self._values, strides=(size,))
        # All bits of the columns behind each one: copying masks is many times as fast as comparing.
        self.behind = np.where(np.tri(length + 1, length, dtype=np.bool_), 0, -1).astype(self._values.dtype)

    def joined(self, begins: Int64, separators: Int32) -> tuple[Array, Array]:
        """The values of sequences, and all bits of the columns behind the last of their separators, (B, T) each.

        Span s of a sequence begins at `begins[:, s]` in the text and, but for the first, behind `separators[:, s - 1]`.
        In the places of specials and padding are any values.
        """
        text = self._from(begins[:, 0] - 1)
        behind = np.zeros_like(text)
        for begin, separator in zip(begins.T[1:], separators.T, strict=True):
            behind = self.behind.take(separator, axis=0, mode="clip")
            text ^= (text ^ self._from(begin - separator - 1)) & behind
        return text, behind

    def _from(self, places: Int64) -> Array:
        """The T values from each of `places` (B,) on, (B, T); any values outside of the text."""
        nearest = places.clip(0, self._last)
        text: Array = self._from_each[nearest].view(self._values.dtype).reshape(len(places), -1)
        for number in np.flatnonzero(nearest != places):
            text[number] = self._values.take(places[number] + np.arange(text.shape[1]), mode="clip")
        return text
