"""Whole words (Google's BERT of May 2019; "whole words" in SpanBERT's Table 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bertlab.objectives.selection.base import Choice, Chooser, Selection

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bertlab import keyed
    from bertlab.inputs.collator import Sequences, Tokenizer


@dataclass(frozen=True, kw_only=True)
class WholeWords(Selection):
    """All pieces of a word are chosen together; what is shown for each is drawn on its own, as in Google's code.

    Words are drawn uniformly. One that would exceed the number of tokens is passed over, as in Google's code, for the
    next that fits; where none does, the first pieces of one are taken, so that the number is exact.
    """

    kind: ClassVar[str] = "whole_words"

    def prepare(self, mask_prob: float, tokenizer: Tokenizer, length: int) -> Chooser:
        """Chooses the words with the smallest keyed ranks."""
        from bertlab.objectives.selection.words import Budget

        budget = Budget(mask_prob, tokenizer, length)

        def choose(sequences: Sequences, keys: keyed.Words) -> Choice:
            words = budget.words(sequences)
            ranks = words.ranks(keys)
            numbers, used = budget.spend(sequences, words, ranks, ranks)
            return Choice(numbers, used, numbers)

        return choose

    def audit(self, rows: Any, chosen: npt.NDArray[Any], tokenizer: Tokenizer) -> list[Any]:
        """Words stay whole, and are chosen as a plain draw chooses them."""
        from bertlab.objectives.selection.audit import like_a_plain_draw, whole

        return [whole(rows, chosen), *like_a_plain_draw(rows, chosen, self.draw)]

    def audit_again(self, figure: str, rows: Any, which: Any, chosen: Any, later: Any) -> list[Any]:
        """As many tokens are chosen twice as in a plain draw."""
        from bertlab.objectives.selection.audit import like_another_draw

        return [like_another_draw(figure, rows, which, chosen, later, self.draw)]

    @staticmethod
    def draw(random: np.random.Generator, ends: npt.NDArray[Any]) -> list[range]:
        """Spans of words in the order in which they are chosen: single words."""
        return [range(word, word + 1) for word in random.permutation(len(ends))]
