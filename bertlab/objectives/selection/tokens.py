"""Single tokens, as in BERT."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bertlab import keyed
from bertlab.arrays import Bool, Int64, UInt64
from bertlab.inputs.checks import Check, total
from bertlab.inputs.sample import Sample
from bertlab.inputs.streams import Sequences
from bertlab.objectives.selection.base import Choice, Chooser, Selection, chosen, slots
from bertlab.text.tokenizers import TrainedTokenizer


@dataclass(frozen=True, kw_only=True)
class Tokens(Selection):
    """All tokens are equally likely, independently of their neighbours (BERT section 3.1)."""

    kind: ClassVar[str] = "tokens"

    def chooser(self, mask_prob: float, tokenizer: TrainedTokenizer, length: int) -> Chooser:
        """Chooses the tokens with the smallest keyed words: a sample without replacement."""
        # Tables and counters, so that a batch costs a few passes over its tokens.
        count = slots(mask_prob, length)
        counts = np.array([chosen(mask_prob, n) for n in range(length + 1)], dtype=np.int32)
        counters = np.arange(length, dtype=np.uint32)
        number_bits = np.uint32((1 << (length - 1).bit_length()) - 1)
        beyond = counters >= np.arange(length + 1)[:, None]
        low_bits = np.where(beyond, np.uint32(0xFFFFFFFF), counters)
        used = (np.arange(count) < counts[:, None]).astype(np.int32)

        def choose(sequences: Sequences, keys: UInt64) -> Choice:
            words = keyed.words(keys, counters)  # the low bits of each become its token's number
            words &= ~number_bits
            words |= low_bits.take(sequences.ordinary, axis=0)
            words.sort(axis=1)
            numbers = (words[:, :count] & number_bits).astype(np.int32)
            return Choice(numbers, used.take(sequences.ordinary, axis=0), numbers)

        return choose

    def audit_again(self, figure: str, sample: Sample, which: Int64, chosen: Bool, later: Bool) -> list[Check]:
        """As many tokens are chosen twice as expected of two independent draws: hypergeometric."""
        sizes, counts, others = sample.sizes[which], chosen.sum(axis=1), later.sum(axis=1)
        expected = counts * others / sizes
        variance = expected * (1 - others / sizes) * (sizes - counts) / np.maximum(sizes - 1, 1)
        repeated, drawn = float((chosen & later).sum()), int(counts.sum())
        return [total(figure, repeated, float(expected.sum()), float(variance.sum()), float(drawn), drawn)]
