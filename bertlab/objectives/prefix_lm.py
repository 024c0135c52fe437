"""Prefix language modelling: the rest of a text from its beginning (T5: Raffel et al. 2020, section 3.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bertlab import keyed
from bertlab.inputs.checks import Check, always, total
from bertlab.inputs.sample import Sample, again
from bertlab.inputs.streams import Sequences
from bertlab.objectives.sequence_to_sequence import OUTPUTS, SequenceToSequence, Split, packed
from bertlab.recipe.objective import INPUTS, Arrays
from bertlab.text.tokenizers import TrainedTokenizer

_MANY = 8
"""Sequences that are not all cut in the same places twice by chance."""


@dataclass(frozen=True, kw_only=True)
class PrefixLM(SequenceToSequence):
    """Reads the beginning of a text and writes the rest. All places to cut it are equally likely."""

    kind: ClassVar[str] = "prefix_lm"
    metric_labels: ClassVar[Mapping[str, str]] = {
        "prefix_lm_loss": "rest of a text",
        "exchanged_loss": "with another text's inputs",
        "prefix_lm_accuracy": "rest of a text, accuracy",
        "all_targets_loss": "all targets",
    }
    meaning: ClassVar[str] = (
        "Prefix LM: the loss of the tokens of a held-out text behind a random place, each from all before it; and the "
        "same behind the beginning of another text. All targets include [SEP]."
    )

    def outputs(self, length: int) -> float:
        """Half of the text on average, and [SEP]."""
        return length / 2

    def splitter(self, tokenizer: TrainedTokenizer, length: int, seed: int | str) -> Callable[[Sequences], Split]:
        """Cuts each text in two, none of them empty unless it is of one token."""
        base, sep, pad = keyed.key(seed, "prefix", length), tokenizer.sep, tokenizer.pad

        def split(sequences: Sequences) -> Split:
            text, lengths = sequences.tokens, sequences.lengths
            keys = keyed.bits(keyed.key(base, sequences.epoch), sequences.sequence_ids)
            inner = (lengths - 2).astype(np.int64)
            first = (1 + keyed.integers(np.maximum(inner - 1, 1), keys)).clip(max=np.maximum(inner - 1, 0))[:, None]
            first = first.astype(np.int32)
            column = np.arange(text.shape[1], dtype=np.int32)
            ended = text.copy()
            ended[np.arange(len(text)), first[:, 0] + 1] = sep
            inputs = packed(ended, column <= first + 1, length, pad)
            targets = packed(text, (column > first) & (column < lengths[:, None]), text.shape[1])
            counted = column < targets.lengths[:, None] - 1
            return Split(inputs, targets, counted)

        return split

    def restored(self, streams: Mapping[str, Any], arrays: Arrays) -> Mapping[str, Any]:
        """The beginning and the rest."""
        inputs, (targets, count, _) = streams[INPUTS], self.targets_of(streams, arrays)
        tokens = np.hstack([inputs.tokens, targets])
        used = np.hstack(
            [
                np.arange(inputs.tokens.shape[1]) < inputs.lengths[:, None] - 1,
                np.arange(targets.shape[1]) < count[:, None],
            ]
        )
        text = packed(tokens, used, int(used.sum(axis=1).max()))
        return {**{name: stream for name, stream in streams.items() if name != OUTPUTS}, INPUTS: text}

    def audit(self, sample: Sample) -> list[Check]:
        """Both parts have tokens, and all places to cut a text are equally likely."""
        first, inner = sample.batch.lengths - 2, sample.text.lengths - 2
        wrong = ((first < 1) | (first >= inner)) & (inner > 1)
        several = inner[inner > 1].astype(np.float64)
        spread = float((((several - 1) ** 2 - 1) / 12).sum())
        sums = float(first[inner > 1].sum()), float(several.sum()) / 2, spread, float(several.sum())
        return [
            *super().audit(sample),
            always("parts of a text", "none empty", wrong, sample.name),
            total("in the first part", *sums, int(several.sum())),
        ]

    def audit_again(self, sample: Sample, later: Sample) -> list[Check]:
        """Texts are cut elsewhere in a later epoch."""
        after, first, second = again(sample, later)
        cut = sample.batch.lengths[first] != later.batch.lengths[second]
        alike = np.array([len(first) > _MANY and not cut.any()])
        return [always(f"another place {after}", "not all the same", alike, lambda _: "all", of="comparison")]
