"""Single tokens, as in BERT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bertlab import keyed
from bertlab.objectives.selection.base import Choice, Chooser, Selection, chosen, slots

if TYPE_CHECKING:
    from bertlab.inputs.audit.checks import Check, Flags, Numbers
    from bertlab.inputs.audit.sample import Sample
    from bertlab.inputs.collator import Sequences
    from bertlab.text.tokenizers import TrainedTokenizer


@dataclass(frozen=True, kw_only=True)
class Tokens(Selection):
    """All tokens are equally likely, independently of their neighbours (BERT section 3.1)."""

    kind: ClassVar[str] = "tokens"

    def prepare(self, mask_prob: float, tokenizer: TrainedTokenizer, length: int) -> Chooser:
        """Chooses the tokens with the smallest keyed words: a sample without replacement."""
        # Tables and counters, so that a batch costs a few passes over its tokens.
        count = slots(mask_prob, length)
        counts = np.array([chosen(mask_prob, n) for n in range(length + 1)], dtype=np.int32)
        counters = np.arange(length, dtype=np.uint32)
        number_bits = np.uint32((1 << (length - 1).bit_length()) - 1)
        beyond = counters >= np.arange(length + 1)[:, None]
        low_bits = np.where(beyond, np.uint32(0xFFFFFFFF), counters)
        used = (np.arange(count) < counts[:, None]).astype(np.int32)

        def choose(sequences: Sequences, keys: keyed.Words) -> Choice:
            words = keyed.words(keys, counters)  # the low bits of each become its token's number
            words &= ~number_bits
            words |= low_bits.take(sequences.ordinary, axis=0)
            words.sort(axis=1)
            numbers = (words[:, :count] & number_bits).astype(np.int32)
            return Choice(numbers, used.take(sequences.ordinary, axis=0), numbers)

        return choose

    def audit(self, sample: Sample, chosen: Flags) -> list[Check]:
        """Early tokens are chosen as often as late ones, and each sequence has its own."""
        from bertlab.inputs.audit.checks import total

        sizes, counts = sample.sizes, chosen.sum(axis=1)
        span = float((counts * (sizes - 1)).sum())
        variance = float((counts * (sizes - counts) * (sizes + 1) / 12).sum())
        found, figure = float(sample.rank[chosen].sum()), "position of the chosen in a sequence"
        # Compares the chosen positions of pairs of sequences of equal length.
        ranks = np.zeros(chosen.shape, dtype=np.bool_)
        ranks[np.nonzero(chosen)[0], sample.rank[chosen]] = True
        order = np.argsort(sizes, kind="stable")
        one, other = order[:-1:2], order[1::2]
        equal = sizes[one] == sizes[other]
        one, other = one[equal], other[equal]
        return [
            total(figure, found, span / 2, variance, span, int(counts.sum())),
            _overlap("chosen in another sequence too", ranks[one], ranks[other], sizes[one]),
        ]

    def audit_again(self, figure: str, sample: Sample, which: Numbers, chosen: Flags, later: Flags) -> list[Check]:
        """As many tokens are chosen twice as expected by chance."""
        return [_overlap(figure, chosen, later, sample.sizes[which])]


def _overlap(figure: str, one: Flags, other: Flags, sizes: Numbers) -> Check:
    """The positions that two independent draws share, of `sizes` (N,) tokens in each sequence: hypergeometric."""
    from bertlab.inputs.audit.checks import total

    counts, others = one.sum(axis=1), other.sum(axis=1)
    expected = counts * others / sizes
    variance = expected * (1 - others / sizes) * (sizes - counts) / np.maximum(sizes - 1, 1)
    found, drawn = float((one & other).sum()), int(counts.sum())
    return total(figure, found, float(expected.sum()), float(variance.sum()), float(drawn), drawn)
