"""Spans of whole words, of a random length that each arm draws in its own way."""

from abc import abstractmethod

import numpy as np
import numpy.typing as npt

from bertlab import keyed
from bertlab.inputs.collator import Integers, Sequences
from bertlab.objectives.selection.words import Keyed, Words, WordSelection

_NEVER = np.uint32(0xFFFFFFFF)


class SpanSelection(WordSelection):
    """Spans that begin at a uniformly drawn word, until the tokens are spent; they end at [SEP] at the latest."""

    longest: int
    """Words of the longest span."""

    @abstractmethod
    def at_most(self, words: int) -> float:
        """The probability that a span has at most this many words."""

    def turns(
        self, words: Words, ranks: Keyed, keys: keyed.Words, sequences: Sequences, budget: Integers
    ) -> npt.NDArray[np.uint64]:
        """The lowest rank of the words whose spans cover a word, above its number."""
        sizes, segments, turns = words.bits(keys ^ np.uint64(keyed.key("span length"))), words.segments, ranks.copy()
        for ahead in range(1, self.longest):
            until = np.uint32(min(round(self.at_most(ahead) * 2**32), 2**32 - 1))
            beyond = (sizes[:-ahead] < until) | (segments[:-ahead] != segments[ahead:])
            np.minimum(turns[ahead:], ranks[:-ahead] | _NEVER * beyond, out=turns[ahead:])
        return turns.astype(np.uint64) << np.uint64(32) | words.numbers
