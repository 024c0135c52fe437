"""Next-sentence prediction (BERT section 3.1 and appendix A.1): does the second segment follow the first?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bertlab.objectives.sentence_pair import SentencePair
from bertlab.recipe.objective import Arrays, Pairing

if TYPE_CHECKING:
    from bertlab.inputs.collator import Sequences, Tokenizer


@dataclass(frozen=True, kw_only=True)
class NextSentence(SentencePair):
    """Predicts from [CLS] whether the second segment follows the first (0) or is from another document (1).

    Half of the second segments are from another document with a masked LM alone too.
    """

    kind: ClassVar[str] = "next_sentence"
    pairing: ClassVar[Pairing | None] = Pairing(random=0.5)
    figures: ClassVar[Mapping[str, str]] = {"next_sentence_accuracy": "next sentence"}
    meaning: ClassVar[str] = "Next sentence: the accuracy on held-out pairs, half of them true; 50 % is chance."

    def prepare(self, tokenizer: Tokenizer, length: int, seed: int | str) -> Callable[[Sequences], Arrays]:
        """The labels are those that the pairs were drawn with."""

        def examples(sequences: Sequences) -> Arrays:
            return {"labels": sequences.random_second}

        return examples

    def audit(self, rows: Any, tokenizer: Tokenizer) -> list[Any]:
        """The labels are those of the pairs."""
        from bertlab.objectives.audit import pair_labels

        return pair_labels(rows, self.kind)
