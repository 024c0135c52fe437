"""Which tokens of a sequence are predicted; what is shown in their place is `corruption.py`'s."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bertlab.recipe.ranges import Arm

if TYPE_CHECKING:
    import numpy.typing as npt

    from bertlab import keyed
    from bertlab.inputs.collator import Integers, Sequences, Tokenizer

Chooser = Callable[["Sequences", "keyed.Words"], "tuple[Integers, Integers]"]
"""From sequences and their keys (B,) to the numbers of the chosen tokens (B, K), counted over the ordinary tokens of
each sequence, and 1 for a slot that is used, 0 for one that is not (B, K); the used slots of a sequence come first."""


class Selection(Arm, ABC, home="bertlab.objectives.selection"):
    """A way to choose tokens: all but [CLS], [SEP] and [PAD] can be."""

    @abstractmethod
    def prepare(self, mask_prob: float, tokenizer: Tokenizer, length: int) -> Chooser:
        """Returns what chooses in sequences of at most `length` tokens, specials included."""

    def audit(self, rows: Any, chosen: npt.NDArray[Any]) -> list[Any]:
        """Checks of what was chosen, (R, T), in the `Structure` of the sequences of one epoch."""
        return []


def chosen(mask_prob: float, ordinary: int) -> int:
    """How many of n `ordinary` tokens are predicted: exactly max(1, floor(mask_prob n + 0.5)), and none of none."""
    return min(ordinary, max(1, math.floor(mask_prob * ordinary + 0.5)))


def slots(mask_prob: float, length: int) -> int:
    """Slots for predictions in a sequence of `length` tokens, so that shapes stay static."""
    return max(1, math.ceil(mask_prob * length))


@dataclass(frozen=True, kw_only=True)
class Tokens(Selection):
    """Each token is as likely as every other, whatever stands beside it (BERT section 3.1)."""

    kind: ClassVar[str] = "tokens"

    def prepare(self, mask_prob: float, tokenizer: Tokenizer, length: int) -> Chooser:
        """Chooses the tokens with the smallest keyed words: a sample without replacement."""
        import numpy as np

        from bertlab import keyed

        # Tables and counters, so that a batch costs a few passes over its tokens.
        count = slots(mask_prob, length)
        counts = np.array([chosen(mask_prob, n) for n in range(length + 1)], dtype=np.int32)
        counters = np.arange(length, dtype=np.uint32)
        number_bits = np.uint32((1 << (length - 1).bit_length()) - 1)
        beyond = counters >= np.arange(length + 1)[:, None]
        low_bits = np.where(beyond, np.uint32(0xFFFFFFFF), counters)
        used = (np.arange(count) < counts[:, None]).astype(np.int32)

        def choose(sequences: Sequences, keys: keyed.Words) -> tuple[Integers, Integers]:
            words = keyed.words(keys, counters)  # each carries its token's number in its low bits
            words &= ~number_bits
            words |= low_bits.take(sequences.ordinary, axis=0)
            words.sort(axis=1)
            numbers = (words[:, :count] & number_bits).astype(np.int32)
            return numbers, used.take(sequences.ordinary, axis=0)

        return choose

    def audit(self, rows: Any, chosen: npt.NDArray[Any]) -> list[Any]:
        """Early tokens are chosen as often as late ones, and each sequence has its own."""
        from bertlab.objectives.audit import places_differ, spread

        return [spread(rows, chosen), places_differ(rows, chosen)]
