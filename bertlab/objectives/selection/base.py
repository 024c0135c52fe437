"""The protocol of a selection, and how many tokens each one chooses."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from bertlab.recipe.ranges import Arm

if TYPE_CHECKING:
    import numpy.typing as npt

    from bertlab import keyed
    from bertlab.inputs.collator import Integers, Sequences, Tokenizer


class Choice(NamedTuple):
    """The chosen tokens of B sequences in K slots each."""

    numbers: Integers
    """(B, K) their numbers, counted over the ordinary tokens of each sequence; anything in a slot that is not used."""
    used: Integers
    """(B, K) 1 for a slot that is used, 0 for one that is not; the used slots of a sequence come first."""
    groups: Integers
    """(B, K) the number of the first token of each one's group: a corruption decides once for all tokens of a group."""


Chooser = Callable[["Sequences", "keyed.Words"], Choice]
"""From sequences and their keys (B,) to the chosen tokens."""


class Selection(Arm, ABC, home="bertlab.objectives.selection"):
    """A way to choose tokens: all but [CLS], [SEP] and [PAD] can be."""

    @abstractmethod
    def prepare(self, mask_prob: float, tokenizer: Tokenizer, length: int) -> Chooser:
        """Returns what chooses `chosen(mask_prob, n)` of n tokens; `length` is that of the longest sequence."""

    # Audit, of the `Structure` of the sequences of one epoch: `chosen` (R, T) flags the chosen tokens.

    def apart(self, chosen: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Chosen tokens, one of each group: what is shown for them is drawn independently."""
        return chosen

    def audit(self, rows: Any, chosen: npt.NDArray[Any], tokenizer: Tokenizer) -> list[Any]:
        """Checks of which tokens are chosen."""
        return []

    def audit_again(self, figure: str, rows: Any, which: Any, chosen: Any, later: Any) -> list[Any]:
        """Checks that the sequences `which` (N,) are masked independently in two epochs, (N, T) each."""
        return []


def chosen(mask_prob: float, ordinary: int) -> int:
    """How many of n `ordinary` tokens are predicted: exactly max(1, floor(mask_prob n + 0.5)), and none of none."""
    return min(ordinary, max(1, math.floor(mask_prob * ordinary + 0.5)))


def slots(mask_prob: float, length: int) -> int:
    """Slots for predictions in a sequence of `length` tokens, so that shapes stay static."""
    return max(1, math.ceil(mask_prob * length))
