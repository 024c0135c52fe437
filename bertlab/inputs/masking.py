"""Which tokens are predicted, and what is shown in their place (BERT sections 3.1 and A.1).

Of the n ordinary tokens of a row (all but [CLS], [SEP] and [PAD]) exactly `Masking.chosen(n)` are chosen. What is
shown for each is drawn independently. Both are functions of the row's key and the token's number within the row, so
recipes that differ in their shares choose the same tokens, and static and dynamic masking differ in the key alone.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bertlab import keyed, recipe

Numbers = npt.NDArray[np.int64]
Integers = npt.NDArray[np.int32]


class Vocabulary(Protocol):
    """What masking needs to know of a tokenizer."""

    @property
    def mask(self) -> int:
        """The id of [MASK]."""

    @property
    def ordinary(self) -> Integers:
        """The ids of all but the special tokens."""


class Masks:
    """Masking of rows of `length` tokens, specials included."""

    def __init__(self, masking: recipe.Masking, vocabulary: Vocabulary, length: int, seed: int | str) -> None:
        self.masking = masking
        self._seed = keyed.key(seed, "mask", length)
        self._show_key = np.uint64(keyed.key("show"))
        self._mask = vocabulary.mask
        self._ordinary = np.asarray(vocabulary.ordinary)
        # Tables and counters, so that a batch costs a few passes over its tokens.
        slots = masking.slots(length)
        self._chosen = np.array([masking.chosen(n) for n in range(length + 1)], dtype=np.int32)
        self._numbers = np.arange(length, dtype=np.uint32)
        self._number_bits = np.uint32((1 << (length - 1).bit_length()) - 1)
        beyond = self._numbers >= np.arange(length + 1)[:, None]
        self._low_bits = np.where(beyond, np.uint32(0xFFFFFFFF), self._numbers)
        self._slots = slots
        self._active = (np.arange(slots) < self._chosen[:, None]).astype(np.int32)
        self._until_mask = np.uint64(round(masking.mask * 2**32))
        self._until_random = np.uint64(round((masking.mask + masking.random) * 2**32))

    def keys(self, rows: Numbers, epoch: int) -> keyed.Words:
        """The keys (B,) under which `rows` (B,) are masked in pass `epoch`: as often new as the schedule says."""
        schedule = self.masking.schedule
        epoch = 0 if schedule == "static" else epoch % self.masking.copies if schedule == "duplicated" else epoch
        return keyed.bits(keyed.key(self._seed, epoch), rows)

    def apply(
        self, tokens: npt.NDArray[Any], before: Integers, ordinary: Integers, keys: keyed.Words
    ) -> tuple[Integers, Integers, npt.NDArray[np.float32]]:
        """Masks the contiguous `tokens` (B, T); gives chosen positions, what was there, and weights, each (B, K).

        A row has `ordinary` (B,) ordinary tokens; so many as `before` (B, N) says stand before each of its N inner
        [SEP]. Of the K slots those beyond the chosen have weight 0, position 0 and target 0.
        """
        # The tokens with the smallest words are chosen; each word carries its token's number in its low bits.
        words = keyed.words(keys, self._numbers)
        words &= ~self._number_bits
        words |= self._low_bits.take(ordinary, axis=0)
        words.sort(axis=1)
        numbers = (words[:, : self._slots] & self._number_bits).astype(np.int32)
        active = self._active.take(ordinary, axis=0)

        positions = numbers + np.int32(1)
        for column in before.T:
            positions += numbers >= column[:, None]
        positions *= active  # those of empty slots are all [CLS], which is put back in the end
        flat = positions.astype(np.int64)
        flat += np.arange(0, tokens.size, tokens.shape[1])[:, None]
        there = tokens.take(flat).astype(np.int32, copy=False)

        # Sums and products in place of choices: the processor could not guess which way each of these goes.
        draws = keyed.bits((keys ^ self._show_key)[:, None], numbers)
        share = draws >> np.uint64(32)
        draws &= np.uint64(0xFFFFFFFF)
        draws *= np.uint64(len(self._ordinary))
        draws >>= np.uint64(32)
        shown = self._ordinary.take(draws.view(np.int64))
        shown -= there
        shown *= share < self._until_random
        shown += there
        shown += (self._mask - shown) * (share < self._until_mask)
        first = tokens[:, 0].copy()
        tokens.reshape(-1)[flat] = shown
        tokens[:, 0] = first
        there *= active
        return positions, there, active.astype(np.float32)
