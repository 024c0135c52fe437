"""Sentence-order prediction (ALBERT section 3.1): do two consecutive segments stand in their order?

Both segments are of one text, so that its topic tells nothing, and the two exchanged are a pair of the same form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bertlab.objectives.sentence_pair import UNLABELLED, SentencePair
from bertlab.recipe.objective import Arrays, Pairing

if TYPE_CHECKING:
    from bertlab.inputs.collator import Sequences, Tokenizer


@dataclass(frozen=True, kw_only=True)
class SentenceOrder(SentencePair):
    """Predicts from [CLS] whether consecutive segments stand in order (0) or are exchanged (1), half each.

    A pair that has no mirror image, as a sentence that is split at a token, stands in order and is not predicted: its
    form would tell the order. ALBERT's released code takes a segment of another document for a lone sentence.
    """

    kind: ClassVar[str] = "sentence_order"
    pairing: ClassVar[Pairing | None] = Pairing(random=0.0, exchanged=0.5)
    figures: ClassVar[Mapping[str, str]] = {"sentence_order_accuracy": "sentence order"}
    meaning: ClassVar[str] = "Sentence order: the accuracy on held-out pairs, half of them exchanged; 50 % is chance."

    def prepare(self, tokenizer: Tokenizer, length: int, seed: int | str) -> Callable[[Sequences], Arrays]:
        """The labels are those that the pairs were drawn with."""
        import numpy as np

        def examples(sequences: Sequences) -> Arrays:
            return {"labels": np.where(sequences.order < 0, np.int32(UNLABELLED), sequences.order)}

        return examples

    def audit(self, rows: Any, tokenizer: Tokenizer) -> list[Any]:
        """The labels are those of the pairs."""
        from bertlab.objectives.audit import order_labels

        return order_labels(rows, self.kind)
