"""Spans of whole words, of a random length that each arm draws in its own way."""

from abc import abstractmethod
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from bertlab import keyed
from bertlab.arrays import Int32, UInt32, UInt64
from bertlab.inputs.streams import Sequences, Stream
from bertlab.objectives.selection.words import Words, WordSelection
from bertlab.recipe.objective import INPUTS

_NEVER = np.uint32(0xFFFFFFFF)
_SAMPLE = 2**18
"""Tokens in which runs are counted."""


class SpanSelection(WordSelection):
    """Spans that begin at a uniformly drawn word, until the tokens are spent; they end at [SEP] at the latest."""

    longest: int
    """Words of the longest span."""

    @abstractmethod
    def at_most(self, words: int) -> float:
        """The probability that a span has at most this many words."""

    def turns(self, words: Words, ranks: UInt32, keys: UInt64, sequences: Sequences, budget: Int32) -> UInt64:
        """The lowest rank of the words whose spans cover a word, above its number."""
        sizes, segments, turns = words.bits(keys ^ np.uint64(keyed.key("span length"))), words.segments, ranks.copy()
        for ahead in range(1, self.longest):
            until = np.uint32(min(round(self.at_most(ahead) * 2**32), 2**32 - 1))
            beyond = (sizes[:-ahead] < until) | (segments[:-ahead] != segments[ahead:])
            np.minimum(turns[ahead:], ranks[:-ahead] | _NEVER * beyond, out=turns[ahead:])
        return turns.astype(np.uint64) << np.uint64(32) | words.numbers

    def mean_run(self, mask_prob: float, ordinary: int) -> float:
        """Spans that touch are one run. Of sequences with one segment and words of one token: those of real text are a
        little shorter."""
        return _mean_run(self, mask_prob, ordinary + 2)


@lru_cache(maxsize=256)
def _mean_run(selection: SpanSelection, mask_prob: float, length: int) -> float:
    """The mean tokens of a run in a keyed sample of sequences of `length` tokens, [CLS] and [SEP] among them."""
    cls, sep, pad, word = range(4)
    tokenizer: Any = SimpleNamespace(word_starts=np.ones(4, np.bool_), cls=cls, sep=sep, pad=pad)
    count = max(1, _SAMPLE // length)
    tokens = np.full((count, length), word, np.int32)
    tokens[:, 0], tokens[:, -1] = cls, sep
    nothing = np.zeros(count, np.int32)
    numbers = np.arange(count, dtype=np.int64)
    streams = {INPUTS: Stream(tokens, nothing + length)}
    sequences = Sequences(streams, np.zeros((count, 0), np.int32), nothing + length - 2, numbers, 0)
    choice = selection.chooser(mask_prob, tokenizer, length)(sequences, keyed.bits(keyed.key("runs"), numbers))
    ordered = np.sort(np.where(choice.valid > 0, choice.indices, 2 * length), axis=1)
    begins = (np.diff(ordered, axis=1, prepend=-2) != 1) & (ordered < length)
    return float(choice.valid.sum() / begins.sum())
