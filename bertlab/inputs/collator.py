"""Collates sequences into batches of arrays: adds the special tokens, then the inputs and labels of each loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from bertlab import keyed
from bertlab.arrays import Int64
from bertlab.errors import BadInput
from bertlab.inputs.formats.base import Layout
from bertlab.inputs.streams import Batch, Sequences
from bertlab.inputs.windows import Windows
from bertlab.recipe import Loss
from bertlab.recipe.objective import Arrays, text_length
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import Part


class Collator:
    """Makes batches from the places of sequences in a text: the losses make inputs of at most `length` tokens."""

    def __init__(
        self,
        objective: Sequence[Loss],
        tokenizer: TrainedTokenizer,
        text: Part,
        length: int,
        seed: int | str,
        *,
        divided: bool = True,
    ) -> None:
        """Unless `divided`, each loss has all sequences, whatever its share."""
        self._transforms: dict[str, Callable[[Sequences], Arrays]] = {}
        self._shares, self._seed = {loss.kind: loss.share for loss in objective if divided and loss.share < 1}, seed
        for number, loss in enumerate(objective):
            self._transforms[loss.kind] = loss.batch_transform(tokenizer, text_length(objective[number:], length), seed)
        self._tokenizer, self._size, length = tokenizer, len(text.tokens), text_length(objective, length)
        self._text, self._marks = Windows(np.asarray(text.tokens), length), None
        if any(loss.annotated for loss in objective):
            if text.marks is None:
                raise BadInput(
                    "the corpus has no linguistic spans, which the masked LM selects: prepare it for this recipe"
                )
            self._marks = Windows(np.asarray(text.marks), length)

    def sequences(self, layout: Layout, chosen: Int64, copy: int, epoch: int) -> Sequences:
        """The text of the sequences number `chosen` (B,) of `layout`, which is that of `copy`, in `epoch`."""
        ids = layout.starts.take(chosen) + copy * self._size
        sequences = layout.sequences(chosen, self._text, self._tokenizer, ids, epoch)
        if self._marks is not None:
            sequences = dataclasses.replace(sequences, marks=layout.gather(chosen, self._marks))
        return sequences

    def collate(self, layout: Layout, chosen: Int64, copy: int, epoch: int) -> Batch:
        """These sequences with what the losses make of them, one after the other."""
        sequences = self.sequences(layout, chosen, copy, epoch)
        owner = self._owner(sequences)
        for kind, transform in self._transforms.items():
            if kind not in self._shares:
                sequences.add(kind, transform(sequences))
                continue
            rows = np.flatnonzero(owner == [*self._shares].index(kind))
            part = sequences.rows(rows)
            part.add(kind, transform(part))
            sequences.put(kind, rows, part, self._tokenizer.pad)
        return sequences.batch()

    def _owner(self, sequences: Sequences) -> Int64:
        """(B,) which of the losses with a share has each sequence in its epoch; their number if none of them has."""
        ends = np.cumsum([*self._shares.values()]).round(9)
        draws = keyed.uniform(keyed.key(self._seed, "share", sequences.epoch), sequences.sequence_ids)
        return np.searchsorted(ends, draws, side="right")
