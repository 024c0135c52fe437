"""Scores sentences by how often their tokens, and runs of two and three of them, occur in a text: the floors of minimal
pairs. A run that the text lacks counts as a shorter one, with a penalty (Brants et al. 2007, section 4)."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from bertlab.arrays import Float, Int64
from bertlab.text.tokens import Part

BACK_OFF = 0.4
"""The factor of a run that the text has only without its first token."""
MOST = 20_000_000
"""Tokens at the beginning of a text that are counted at most, which takes some seconds."""
BLOCK = 50_000
"""Sentences that are counted at a time."""


def scores(sentences: Sequence[Sequence[int]], text: Part, vocabulary: int) -> tuple[Float, Float]:
    """(S,) the mean log frequency of the tokens of each sentence, and the sum of the log scores of its tokens and its
    end, each behind the two tokens before it. Tokens are ids below `vocabulary`."""
    lengths = np.array([*map(len, sentences)])[:, None]
    tokens = np.full((len(sentences), int(lengths.max()) + 3), vocabulary)  # two boundaries before each, one behind
    columns = np.arange(tokens.shape[1] - 2)
    is_token = columns < lengths
    tokens[:, 2:][is_token] = [*chain.from_iterable(sentences)]
    ones, twos, threes = _counts(_runs(tokens, vocabulary + 1), text, vocabulary)
    frequency = (ones[:, 2:] + 1) / (min(MOST, len(text.tokens)) + vocabulary)
    two = np.where(twos[:, 1:] > 0, twos[:, 1:] / np.maximum(1, ones[:, 1:-1]), BACK_OFF * frequency)
    three = np.where(threes > 0, threes / np.maximum(1, twos[:, :-1]), BACK_OFF * two)
    frequencies = (np.log(frequency) * is_token).sum(1) / np.maximum(1, lengths[:, 0])
    return frequencies, (np.log(three) * (columns <= lengths)).sum(1)


def _runs(tokens: Int64, base: int) -> tuple[Int64, Int64, Int64]:
    """The runs of one, two and three tokens along the last axis (..., T), each as a number."""
    twos = tokens[..., :-1] * base + tokens[..., 1:]
    return tokens, twos, twos[..., :-1] * base + tokens[..., 2:]


def _counts(runs: Sequence[Int64], text: Part, vocabulary: int) -> list[Int64]:
    """How often the text has each of these runs."""
    different = [np.unique(numbers, return_inverse=True) for numbers in runs]
    totals = [np.zeros(len(wanted) + 1, np.int64) for wanted, _ in different]
    for tokens in _blocks(text, vocabulary):
        ones, *longer = _runs(tokens, vocabulary + 1)
        for total, (wanted, _), numbers in zip(totals, different, (ones[:-1], *longer), strict=True):
            where = np.searchsorted(wanted, numbers)
            where[wanted[np.minimum(where, len(wanted) - 1)] != numbers] = len(wanted)
            total += np.bincount(where, minlength=len(total))
    return [
        total[inverse].reshape(numbers.shape)
        for total, (_, inverse), numbers in zip(totals, different, runs, strict=True)
    ]


def _blocks(text: Part, vocabulary: int) -> Iterator[Int64]:
    """Sentences with two boundaries before each and one behind the last."""
    last = int(np.searchsorted(text.sentences, MOST, "right")) - 1
    for first in range(0, last, BLOCK):
        starts = np.asarray(text.sentences[first : min(last, first + BLOCK) + 1])
        tokens = np.asarray(text.tokens[starts[0] : starts[-1]]).astype(np.int64)
        before = np.repeat(starts[:-1] - starts[0], 2)
        yield np.append(np.insert(tokens, before, vocabulary), vocabulary)
