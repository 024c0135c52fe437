"""Single tokens, as in BERT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bertlab.objectives.selection.base import Choice, Chooser, Selection, chosen, slots

if TYPE_CHECKING:
    import numpy.typing as npt

    from bertlab import keyed
    from bertlab.inputs.collator import Sequences, Tokenizer


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

        def choose(sequences: Sequences, keys: keyed.Words) -> Choice:
            words = keyed.words(keys, counters)  # each carries its token's number in its low bits
            words &= ~number_bits
            words |= low_bits.take(sequences.ordinary, axis=0)
            words.sort(axis=1)
            numbers = (words[:, :count] & number_bits).astype(np.int32)
            return Choice(numbers, used.take(sequences.ordinary, axis=0), numbers)

        return choose

    def audit(self, rows: Any, chosen: npt.NDArray[Any], tokenizer: Tokenizer) -> list[Any]:
        """Early tokens are chosen as often as late ones, and each sequence has its own."""
        from bertlab.objectives.audit import places_differ, spread

        return [spread(rows, chosen), places_differ(rows, chosen)]

    def audit_again(self, figure: str, rows: Any, which: Any, chosen: Any, later: Any) -> list[Any]:
        """As many tokens are chosen twice as chance has it."""
        from bertlab.objectives.audit import overlap

        return [overlap(figure, chosen, later, rows.sizes[which])]
