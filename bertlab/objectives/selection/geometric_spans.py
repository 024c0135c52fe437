"""Random spans of whole words (SpanBERT: Joshi et al. 2020, section 3.1)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from bertlab import keyed
from bertlab.inputs.audit.checks import Check, Flags, always
from bertlab.inputs.audit.sample import Sample
from bertlab.inputs.collator import Integers, Sequences
from bertlab.objectives.selection.base import Choice
from bertlab.objectives.selection.words import Keyed, Words, WordSelection
from bertlab.recipe.ranges import POSITIVE_SHARE, Range

_NEVER = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, kw_only=True)
class GeometricSpans(WordSelection):
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

    def turns(self, words: Words, ranks: Keyed, keys: keyed.Words) -> npt.NDArray[np.uint64]:
        """The lowest rank of the words whose spans cover a word, above its number."""
        sizes, segments, turns = words.bits(keys ^ np.uint64(keyed.key("span length"))), words.segments, ranks.copy()
        for ahead in range(1, self.longest):
            until = np.uint32(min(round(self.at_most(ahead) * 2**32), 2**32 - 1))
            beyond = (sizes[:-ahead] < until) | (segments[:-ahead] != segments[ahead:])
            np.minimum(turns[ahead:], ranks[:-ahead] | _NEVER * beyond, out=turns[ahead:])
        return turns.astype(np.uint64) << np.uint64(32) | words.numbers

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
