"""Collates sequences into batches of arrays: adds the special tokens, then the inputs and labels of each loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bertlab.arrays import Int64
from bertlab.errors import ArmFailed, BadInput
from bertlab.inputs.formats.base import Layout
from bertlab.inputs.streams import Batch, Sequences, Stream
from bertlab.inputs.windows import Windows
from bertlab.names import shown
from bertlab.recipe import Loss
from bertlab.recipe.objective import INPUTS, Arrays, text_length
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import Part


class Collator:
    """Makes batches from the places of sequences in a text: the losses make inputs of at most `length` tokens."""

    def __init__(
        self, objective: Sequence[Loss], tokenizer: TrainedTokenizer, text: Part, length: int, seed: int | str
    ) -> None:
        self._transforms: dict[str, Callable[[Sequences], Arrays]] = {}
        for number, loss in enumerate(objective):
            of_text = text_length(objective[number:], length)
            self._transforms[loss.kind] = _checked(loss, loss.prepare(tokenizer, of_text, seed), tokenizer)
        self._tokenizer, self._size, length = tokenizer, len(text.tokens), text_length(objective, length)
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
        for kind, transform in self._transforms.items():
            added = transform(sequences)
            streams |= {name: value for name, value in added.items() if isinstance(value, Stream)}
            arrays[kind] = {name: value for name, value in added.items() if not isinstance(value, Stream)}
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
        added = examples(sequences)
        if problem := _problem(loss, added, sequences.streams, tokenizer.size):
            raise ArmFailed.of(loss, "prepare", problem)
        return added

    return checked


def _problem(loss: Loss, added: Any, streams: Mapping[str, Stream], vocabulary: int) -> str:
    """What is wrong with what a loss adds, and with the `streams` that it leaves; empty if nothing is."""
    if not isinstance(added, Mapping):
        return f"makes {shown(added)}: let its function return arrays by name"
    streams = {**streams, **{name: value for name, value in added.items() if isinstance(value, Stream)}}
    arrays = {name: value for name, value in added.items() if not isinstance(value, Stream)}
    parts = {f"{part} of {name}": array for name in streams for part, array in streams[name]._asdict().items()}
    count = len(streams[INPUTS].lengths)
    for name, array in {**arrays, **parts}.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iubf" or array.shape[:1] != (count,):
            found = f"of shape {array.shape}, {array.dtype}" if isinstance(array, np.ndarray) else shown(array)
            return f"makes {name} {found}: give an array of numbers whose first axis is over the {count} sequences"
    bounds = [(name, array, 0, vocabulary) for name, array in parts.items() if name.startswith("tokens")]
    bounds += [(f"lengths of {name}", lengths, 1, tokens.shape[1] + 1) for name, (tokens, lengths) in streams.items()]
    if loss.over_vocabulary and "targets" in arrays:
        bounds.append(("targets", arrays["targets"], 0, vocabulary))
    if (type(loss).positions, type(loss).reads) == (Loss.positions, Loss.reads):
        if "positions" not in arrays:
            return "makes no positions: give those at which it reads the model, (B, K), or define positions"
        bounds.append(("positions", arrays["positions"], 0, streams[INPUTS].tokens.shape[1]))
    for name, values, least, end in bounds:
        if values.dtype.kind not in "iu":
            return f"makes {name} of {values.dtype}: give whole numbers, as int32"
        if values.size and not least <= values.min() <= values.max() < end:
            return f"makes {name} from {values.min()} to {values.max()}: give {least} to {end - 1}"
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
