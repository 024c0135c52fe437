"""Random spans of whole words (SpanBERT: Joshi et al. 2020, section 3.1)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from bertlab.inputs.audit.checks import Check, Flags, always
from bertlab.inputs.audit.sample import Sample
from bertlab.inputs.collator import Integers, Sequences
from bertlab.objectives.selection.base import Choice
from bertlab.objectives.selection.spans import SpanSelection
from bertlab.recipe.ranges import POSITIVE_SHARE, Range


@dataclass(frozen=True, kw_only=True)
class GeometricSpans(SpanSelection):
    """Spans of l words, l from Geo(p) clipped at `longest` (renormalised), that begin at a uniformly drawn word.

    Spans are drawn until the tokens are spent. They end at [SEP] at the latest; spans that overlap or touch become one,
    as in the released code. The last one ends before the word that would exceed the number of tokens, and the rest of
    the number goes to single words, as in `WholeWords`. (The released code cuts that word, and draws a start uniformly
    from the tokens that are not chosen yet.)
    """

    kind: ClassVar[str] = "geometric_spans"
    p: Annotated[float, POSITIVE_SHARE] = 0.2
    longest: Annotated[int, Range(1, 100, "words")] = 10
    """With p = 0.2 the mean is 3.8 words."""

    def at_most(self, words: int) -> float:
        """The probability that a span has at most this many words."""
        return (1 - (1 - self.p) ** words) / (1 - (1 - self.p) ** self.longest)

    def choice(self, sequences: Sequences, numbers: Integers, used: Integers) -> Choice:
        """The runs of consecutive tokens are the groups."""
        numbers[used == 0] = sequences.tokens.shape[1]
        numbers.sort(axis=1)
        begins = np.diff(numbers, axis=1, prepend=-2) != 1
        for column in sequences.before.T:  # a [SEP] ends a run
            begins |= numbers == column[:, None]
        return Choice(numbers, used, np.maximum.accumulate(numbers * begins, axis=1))

    def apart(self, chosen: Flags) -> Flags:
        """The first token of each span."""
        return chosen & ~np.pad(chosen, ((0, 0), (1, 0)))[:, :-1]

    def audit(self, sample: Sample, chosen: Flags) -> list[Check]:
        """Words stay whole, and all tokens of a span are shown as [MASK], or none."""
        hidden = sample.batch.tokens == sample.corpus.tokenizer.mask
        wrong = chosen[:, 1:] & chosen[:, :-1] & (hidden[:, 1:] != hidden[:, :-1])
        shown = always("tokens of a span", "shown alike", wrong.any(axis=1), sample.name)
        return [shown, *super().audit(sample, chosen)]
