"""Chosen tokens that stand side by side are replaced as a whole (SpanBERT: Joshi et al. 2020, section 3.1)."""

import numpy as np

from bertlab.arrays import Bool, Int32
from bertlab.inputs.checks import Check, always
from bertlab.inputs.sample import Sample
from bertlab.inputs.streams import Sequences
from bertlab.objectives.selection.base import Choice
from bertlab.objectives.selection.words import WordSelection


class RunSelection(WordSelection):
    """Spans that overlap or touch become one, as in the released code; all its tokens are shown as [MASK], or none."""

    def choice(self, sequences: Sequences, numbers: Int32, used: Int32) -> Choice:
        """The runs of consecutive tokens are the groups."""
        numbers[used == 0] = sequences.tokens.shape[1]
        numbers.sort(axis=1)
        begins = np.diff(numbers, axis=1, prepend=-2) != 1
        for column in sequences.separator_offsets.T:  # a [SEP] ends a run
            begins |= numbers == column[:, None]
        return Choice(numbers, used, np.maximum.accumulate(numbers * begins, axis=1))

    def apart(self, chosen: Bool) -> Bool:
        """The first token of each span."""
        return chosen & ~np.pad(chosen, ((0, 0), (1, 0)))[:, :-1]

    def audit(self, sample: Sample, chosen: Bool) -> list[Check]:
        """Words stay whole, and all tokens of a span are shown as [MASK], or none."""
        hidden = sample.batch.tokens == sample.corpus.tokenizer.mask
        wrong = chosen[:, 1:] & chosen[:, :-1] & (hidden[:, 1:] != hidden[:, :-1])
        shown = always("tokens of a span", "shown alike", wrong.any(axis=1), sample.name)
        return [shown, *super().audit(sample, chosen)]
