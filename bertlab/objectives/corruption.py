"""Replaces the tokens to predict in the input (BERT section 3.1 and appendix C.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt

from bertlab import keyed
from bertlab.recipe.ranges import SHARE, Checked, FieldError

if TYPE_CHECKING:
    from bertlab.objectives.selection import Choice
    from bertlab.text.tokenizers import TrainedTokenizer


@dataclass(frozen=True, kw_only=True)
class Corruption(Checked, group="corruption"):
    """The probabilities of what is shown for each group of chosen tokens, drawn independently."""

    mask: Annotated[float, SHARE] = 0.8
    """[MASK]."""
    keep: Annotated[float, SHARE] = 0.1
    """The token itself."""
    random: Annotated[float, SHARE] = 0.1
    """A random ordinary token, drawn for each token of a group."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if abs(self.mask + self.keep + self.random - 1) >= 1e-9:
            shares = f"{self.mask}, {self.keep} and {self.random}"
            raise FieldError(self._group, "mask, keep and random", f"are {shares}: give shares that add up to 1")

    def prepare(
        self, tokenizer: TrainedTokenizer
    ) -> Callable[[npt.NDArray[Any], keyed.Words, Choice], npt.NDArray[Any]]:
        """Returns what maps chosen tokens (B, K), keys (B,) and their choice to what is shown for them (B, K)."""
        show = np.uint64(keyed.key("show"))
        ordinary, mask = np.asarray(tokenizer.ordinary), tokenizer.mask
        until_mask = np.uint64(round(self.mask * 2**32))
        until_random = np.uint64(round((self.mask + self.random) * 2**32))

        def shown(there: npt.NDArray[Any], keys: keyed.Words, choice: Choice) -> npt.NDArray[Any]:
            # Sums and products in place of choices: the processor could not guess which way each of these goes.
            draws = keyed.bits((keys ^ show)[:, None], choice.numbers)
            share = draws if choice.groups is choice.numbers else keyed.bits((keys ^ show)[:, None], choice.groups)
            share = share >> np.uint64(32)  # the first token of a group decides
            draws &= np.uint64(0xFFFFFFFF)
            draws *= np.uint64(len(ordinary))
            draws >>= np.uint64(32)
            out: npt.NDArray[np.int32] = ordinary.take(draws.view(np.int64))
            out -= there
            out *= share < until_random
            out += there
            out += (mask - out) * (share < until_mask)
            return out

        return shown
