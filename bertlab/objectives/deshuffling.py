"""Deshuffling: a text from its tokens in random order (Liu et al. 2019; T5: Raffel et al. 2020, section 3.3.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bertlab import keyed
from bertlab.inputs.checks import Check, always, total
from bertlab.inputs.sample import Sample, again
from bertlab.inputs.streams import Sequences, Stream
from bertlab.objectives.sequence_to_sequence import OUTPUTS, SequenceToSequence, Split
from bertlab.recipe.objective import INPUTS, Arrays
from bertlab.text.tokenizers import TrainedTokenizer

_MANY = 24
"""Tokens of a sequence beyond which the same order twice is no chance."""


@dataclass(frozen=True, kw_only=True)
class Deshuffling(SequenceToSequence):
    """Reads the tokens of a text in random order and writes the text. All orders are equally likely."""

    kind: ClassVar[str] = "deshuffling"
    metric_labels: ClassVar[Mapping[str, str]] = {
        "deshuffling_loss": "shuffled text",
        "exchanged_loss": "with another text's inputs",
        "deshuffling_accuracy": "shuffled text, accuracy",
        "all_targets_loss": "all targets",
    }
    meaning: ClassVar[str] = (
        "Deshuffling: the loss of all tokens of a held-out text, each from those before it and from all tokens in "
        "random order; and the same with the tokens of another text. All targets include [SEP]."
    )

    def outputs(self, length: int) -> float:
        """The text and [SEP]."""
        return length - 1

    def splitter(self, tokenizer: TrainedTokenizer, length: int, seed: int | str) -> Callable[[Sequences], Split]:
        """Sorts tokens by keyed words, whose low bits are their places."""
        base, counters = keyed.key(seed, "shuffle", length), np.arange(length - 1, dtype=np.uint32)
        number_bits = np.uint32((1 << (length - 1).bit_length()) - 1)

        def split(sequences: Sequences) -> Split:
            text, lengths = sequences.tokens, sequences.lengths
            keys = keyed.bits(keyed.key(base, sequences.epoch), sequences.sequence_ids)
            places = counters[: text.shape[1] - 1]
            words = keyed.words(keys, places)
            words &= ~number_bits
            words |= places
            inner = places.astype(np.int32) < lengths[:, None] - 2
            words |= ~inner * np.uint32(0xFFFFFFFF)
            words.sort(axis=1)
            words &= number_bits
            order = np.where(inner, words, places).astype(np.int64)
            order += np.arange(1, text.size, text.shape[1])[:, None]
            shuffled = text.copy()
            shuffled[:, 1:] = text.take(order)
            return Split(Stream(shuffled, lengths), Stream(text[:, 1:], lengths - 1), inner)

        return split

    def restored(self, streams: Mapping[str, Any], arrays: Arrays) -> Mapping[str, Any]:
        """The targets."""
        targets, count, _ = self.targets_of(streams, arrays)
        text = Stream(np.hstack([streams[INPUTS].tokens[:, :1], targets]), count + 1)
        return {**{name: stream for name, stream in streams.items() if name != OUTPUTS}, INPUTS: text}

    def audit(self, sample: Sample) -> list[Check]:
        """The inputs have the tokens of the text, and no more of them in their places than in a random order."""
        inputs, lengths = sample.batch.streams[INPUTS]
        width = min(inputs.shape[1], sample.tokens.shape[1])
        inputs, text = inputs[:, :width], sample.tokens[:, :width]
        other = (np.sort(inputs) != np.sort(text)).any(axis=1) | (lengths != sample.text.lengths)
        rows, columns = np.nonzero((np.arange(width) > 0) & (np.arange(width) < lengths[:, None] - 1))
        entries, counts = np.unique(rows * (int(text.max()) + 1) + text[rows, columns], return_counts=True)
        pairs = np.bincount(entries // (int(text.max()) + 1), counts.astype(np.float64) ** 2, len(text))
        expected = pairs / np.maximum(lengths - 2, 1)
        unmoved = np.bincount(rows, inputs[rows, columns] == text[rows, columns], len(text))
        spread = float(np.square(unmoved - expected).sum())
        sums = float(unmoved.sum()), float(expected.sum()), spread, float(len(rows)), len(rows)
        return [
            *super().audit(sample),
            always("tokens of the inputs", "those of the text", other, sample.name),
            total("tokens in their places", *sums),
        ]

    def audit_again(self, sample: Sample, later: Sample) -> list[Check]:
        """The order is another one in a later epoch."""
        after, first, second = again(sample, later)
        one, other = sample.batch.streams[INPUTS], later.batch.streams[INPUTS]
        width = min(one.tokens.shape[1], other.tokens.shape[1])
        same = (one.tokens[first, :width] == other.tokens[second, :width]).all(axis=1)
        same &= one.lengths[first] > _MANY
        return [always(f"another order {after}", "in long sequences", same, lambda row: sample.name(int(first[row])))]
