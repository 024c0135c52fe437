"""Whole words: where they lie in sequences, and how a number of tokens is spent on them.

A word is a token that begins one, or a segment, with the continuation pieces behind it: no word crosses [SEP].
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bertlab import keyed
from bertlab.arrays import Array, Bool, Int32, Int64, UInt32, UInt64
from bertlab.inputs.checks import Check, always
from bertlab.inputs.sample import Sample
from bertlab.inputs.streams import Sequences
from bertlab.objectives.selection.base import Choice, Chooser, Selection, chosen, slots
from bertlab.text.tokenizers import TrainedTokenizer

_CONTINUES, _BEGINS, _SPECIAL = range(3)


@dataclass(frozen=True)
class Words:
    """The W words of B sequences, in their order."""

    counts: Int64
    """(B,) words of each sequence."""
    numbers: UInt32
    """(W,) the number of the first token of each in its sequence."""
    segments: Int32
    """(W,) the segment of each, numbered over all sequences."""
    places: Int64
    """(W,) the place of each in a flat array (B, T): in its sequence, at its number."""
    positions: Int64
    """(W,) the place of the first token of each in the flat tokens (B, T) of the sequences."""
    sizes: Int32
    """(B, T) tokens of each word at its place, 0 elsewhere."""

    def bits(self, keys: UInt64) -> UInt32:
        """32 random bits for each word, (W,), of the keys (B,) of the sequences."""
        return keyed.words(np.repeat(keys, self.counts), self.numbers[:, None])[:, 0]

    def ranks(self, keys: UInt64) -> UInt32:
        """A random rank for each word, (W,), no two the same in a sequence; the low bits are its number."""
        return self.bits(keys) & ~self._number_bits | self.numbers

    def ordered(self, values: Array, chosen: Any, most: int) -> Int64:
        """The numbers of the first `most` words of the sequences `chosen`, (N, `most`), in the order of `values` (W,).

        The low bits of `values` are those numbers. The number behind the last word is T - 1, at which none begins.
        """
        out = np.full(self.sizes.shape, np.iinfo(values.dtype).max, dtype=values.dtype)
        out.reshape(-1)[self.places] = values
        out = out[chosen]
        out.sort(axis=1)
        numbers: Int64 = (out[:, :most] & self._number_bits).astype(np.int64).clip(max=self.sizes.shape[1] - 1)
        return numbers

    @property
    def _number_bits(self) -> np.uint32:
        return np.uint32((1 << (self.sizes.shape[1] - 1).bit_length()) - 1)


class TokenBudget:
    """Spends exactly `chosen(mask_prob, n)` of n tokens on whole words."""

    def __init__(self, mask_prob: float, tokenizer: TrainedTokenizer, length: int) -> None:
        self._kinds = np.where(tokenizer.word_starts, _BEGINS, _CONTINUES).astype(np.uint8)
        self._kinds[[tokenizer.pad, tokenizer.cls, tokenizer.sep]] = _SPECIAL
        self._counts = np.array([chosen(mask_prob, n) for n in range(length + 1)], dtype=np.int32)
        self._used = (np.arange(slots(mask_prob, length)) < self._counts[:, None]).astype(np.int32)

    def words(self, sequences: Sequences) -> Words:
        """The words of sequences."""
        kinds = self._kinds.take(sequences.tokens)
        opens = np.zeros(kinds.shape, dtype=np.bool_)
        opens[:, 1:] = (kinds[:, :-1] == _SPECIAL) & (kinds[:, 1:] != _SPECIAL)
        begins = opens | (kinds == _BEGINS)
        counts, flat = np.count_nonzero(begins, axis=1), np.flatnonzero(begins)
        first = np.arange(0, kinds.size, kinds.shape[1])
        places = flat - 1  # behind [CLS]
        for inner, offset in enumerate(sequences.separator_offsets.T, start=1):
            places -= flat > np.repeat(first + offset + inner, counts)
        ends = np.append(places[1:], 0)[: len(places)]
        ends[np.cumsum(counts)[counts > 0] - 1] = (first + sequences.ordinary)[counts > 0]
        sizes = np.zeros(kinds.shape, dtype=np.int32)
        sizes.reshape(-1)[places] = ends - places
        numbers = (places - np.repeat(first, counts)).astype(np.uint32)
        return Words(counts, numbers, np.cumsum(opens.take(flat), dtype=np.int32), places, flat, sizes)

    def tokens(self, sequences: Sequences) -> Int32:
        """The tokens to choose of each sequence, (B,)."""
        return self._counts.take(sequences.ordinary)

    def spend(self, sequences: Sequences, words: Words, turns: Array, ranks: UInt32) -> tuple[Int32, Int32]:
        """The numbers of the chosen tokens, 0 in empty slots, and the used slots, (B, K) each, as in a `Choice`.

        Words are taken in the order of their `turns` (W,), whose low bits are their numbers, up to the first that would
        exceed the budget. The rest goes to single words in the order of their `ranks`: each that fits is taken. So long
        words are chosen a little less often than short ones. If no word fits, the first pieces of one are taken.
        """
        used = self._used.take(sequences.ordinary, axis=0)
        numbers, budget, sizes = np.zeros_like(used), self.tokens(sequences), words.sizes
        order = words.ordered(turns, slice(None), used.shape[1])  # enough: each word has at least one token
        taken = _until_full(np.take_along_axis(sizes, order, axis=1), budget)
        spent = taken.sum(axis=1, dtype=np.int32)
        _write(numbers, np.arange(len(spent)), 0 * spent, order, taken)
        short = np.flatnonzero(spent < budget)
        number, column = np.nonzero(taken[short])
        sizes = sizes[short]
        sizes[number, order[short[number], column]] = 0
        order = words.ordered(ranks, short, sizes.shape[1])
        added = _singly(np.take_along_axis(sizes, order, axis=1), (budget - spent)[short])
        _write(numbers, short, spent[short], order, added)
        return numbers, used


class WordSelection(Selection):
    """Chooses whole words, in spans that begin at uniformly drawn words; the base draws spans of one word."""

    def chooser(self, mask_prob: float, tokenizer: TrainedTokenizer, length: int) -> Chooser:
        """Chooses the words with the smallest turns."""
        budget = TokenBudget(mask_prob, tokenizer, length)

        def choose(sequences: Sequences, keys: UInt64) -> Choice:
            words = budget.words(sequences)
            ranks = words.ranks(keys)
            turns = self.turns(words, ranks, keys, sequences, budget.tokens(sequences))
            return self.choice(sequences, *budget.spend(sequences, words, turns, ranks))

        return choose

    def turns(self, words: Words, ranks: UInt32, keys: UInt64, sequences: Sequences, budget: Int32) -> Array:
        """When each word is chosen, (W,): numbers to sort by, whose low bits are the number of the word.

        `budget` (B,) is the number of tokens to choose of each sequence.
        """
        return ranks

    def choice(self, sequences: Sequences, numbers: Int32, used: Int32) -> Choice:
        """The chosen tokens with their groups; by default each token is a group."""
        return Choice(numbers, used, numbers)

    def audit(self, sample: Sample, chosen: Bool) -> list[Check]:
        """Words are chosen whole, but for at most one of each sequence, whose first pieces are chosen."""
        same_word = sample.ordinary[:, 1:] & ~sample.word_starts[:, 1:]  # as the token before
        cut = same_word & chosen[:, :-1] & ~chosen[:, 1:]
        headless = same_word & ~chosen[:, :-1] & chosen[:, 1:]
        wrong = headless.any(axis=1) | (cut.sum(axis=1) > 1)
        count_text = f"{cut.sum():,} words in part"
        return [always("chosen words", "whole, but for one a sequence", wrong, sample.name, count_text)]


def _until_full(sizes: Int32, budget: Int32) -> Int32:
    """The `sizes` (B, N) of the first words that fit into `budget` (B,) tokens together; 0 for the others."""
    taken: Int32 = sizes * (np.cumsum(sizes, axis=1, dtype=np.int32) <= budget[:, None])
    return taken


def _singly(sizes: Int32, budget: Int32) -> Int32:
    """The tokens taken of words of `sizes` (B, N), in order, each word that fits: `budget` (B,) in all."""
    taken = np.zeros_like(sizes)
    while True:  # a few times: each time the budget left is smaller than a word that does not fit
        more = _until_full(sizes * (sizes <= budget[:, None]), budget)
        if not more.any():
            break
        taken += more
        sizes = sizes - more
        budget = budget - more.sum(axis=1, dtype=np.int32)
    cut = np.flatnonzero(budget)
    taken[cut, (sizes[cut] > 0).argmax(axis=1)] = budget[cut]
    return taken


def _write(numbers: Int32, sequences: Int64, spent: Int32, order: Int64, taken: Int32) -> None:
    """Writes the numbers of the first `taken` (N, W) tokens of the words `order` (N, W) behind `spent` (N,) slots."""
    number, column = np.nonzero(taken)
    sizes = taken[number, column]
    slots = sequences[number] * numbers.shape[1] + (spent[:, None] + np.cumsum(taken, axis=1) - taken)[number, column]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    numbers.reshape(-1)[np.repeat(slots, sizes) + within] = np.repeat(order[number, column], sizes) + within
