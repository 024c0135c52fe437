"""Collates sequences into batches of arrays: adds the special tokens, then the inputs and labels of each loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bertlab.arrays import Int32, Int64
from bertlab.errors import ArmFailed, BadInput
from bertlab.inputs.formats.base import Layout
from bertlab.inputs.streams import INPUTS, Arrays, Batch, Sequences, Stream
from bertlab.inputs.windows import Windows
from bertlab.names import shown
from bertlab.recipe import Loss
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import Part


class Collator:
    """Makes batches of width T = `length` from the places of sequences in a text."""

    def __init__(
        self, objective: Sequence[Loss], tokenizer: TrainedTokenizer, text: Part, length: int, seed: int | str
    ) -> None:
        self._examples = {
            loss.kind: _checked(loss, loss.prepare(tokenizer, length, seed), tokenizer) for loss in objective
        }
        self._tokenizer, self._size = tokenizer, len(text.tokens)
        self._text, self._marks = Windows(np.asarray(text.tokens), length), None
        if any(loss.annotated for loss in objective):
            if text.marks is None:
                raise BadInput(
                    "the corpus has no linguistic spans, which the masked LM selects: prepare it for this recipe"
                )
            self._marks = Windows(np.asarray(text.marks), length)

    def collate(self, layout: Layout, chosen: Int64, copy: int, epoch: int) -> Batch:
        """The sequences number `chosen` (B,) of `layout`, which is that of `copy`, as they are in `epoch`."""
        frame = layout.frame(chosen, self._text, self._tokenizer)
        ids = layout.starts.take(chosen) + copy * self._size
        streams, arrays = {INPUTS: Stream(frame.tokens, frame.lengths)}, dict[str, Arrays]()
        sequences = Sequences(streams, frame.before, frame.ordinary, ids, epoch, frame.arrays, arrays)
        if self._marks is not None:
            sequences = dataclasses.replace(sequences, marks=layout.gather(chosen, self._marks))
        for kind, examples in self._examples.items():
            arrays[kind] = examples(sequences)
        return Batch(streams, frame.arrays, arrays, ids, np.full(len(chosen), epoch))


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
