"""Next-sentence prediction (BERT section 3.1 and appendix A.1): does the second segment follow the first?

Half of the second segments are from another document whether this is predicted or not: that belongs to the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bertlab.errors import BadInput
from bertlab.recipe.objective import Arrays, Loss

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.inputs.batches import Corpus, Evaluation
    from bertlab.inputs.collator import Sequences, Tokenizer
    from bertlab.model.heads import PairHead
    from bertlab.recipe import Model, Recipe


@dataclass(frozen=True, kw_only=True)
class NextSentence(Loss):
    """Predicts from [CLS] whether the second segment follows the first (0) or is from another document (1)."""

    kind: ClassVar[str] = "next_sentence"
    head: ClassVar[str] = "nsp_head"
    labels_only: ClassVar[bool] = True
    figures: ClassVar[Mapping[str, str]] = {"next_sentence_accuracy": "next sentence"}
    meaning: ClassVar[str] = "Next sentence: the accuracy on held-out pairs, half of them true; 50 % is chance."

    def check(self, recipe: Recipe) -> None:
        """It needs two segments, and a [CLS] that sees them."""
        if recipe.causal:
            raise BadInput("objective: next_sentence reads [CLS], which sees nothing with causal_lm: leave it out")
        if not recipe.inputs.pairs:
            raise BadInput(
                f"inputs.format {recipe.inputs.format} has one segment: leave next_sentence out of the objective too, "
                "as with objective=masked_lm"
            )

    def prepare(self, tokenizer: Tokenizer, length: int, seed: int | str) -> Callable[[Sequences], Arrays]:
        """The labels are those that the pairs were drawn with."""

        def examples(sequences: Sequences) -> Arrays:
            return {"labels": sequences.random_second}

        return examples

    def count(self, arrays: Arrays) -> float:
        """The number of sequences."""
        return float(len(arrays["labels"]))

    def new_head(self, model: Model, vocabulary: int) -> nn.Module:
        """BERT's pooler and two classes."""
        from bertlab.model.heads import PairHead

        return PairHead(model.hidden)

    def positions(self, arrays: Arrays) -> None:
        """It reads [CLS]."""

    def sum(self, head: PairHead, hidden: Tensor, arrays: Arrays, embeddings: Tensor) -> Tensor:
        """Cross-entropy of the two classes."""
        return head.loss(hidden, arrays["labels"])

    def evaluations(self, recipe: Recipe, corpus: Corpus, size: int, final: bool) -> list[Evaluation]:
        """The accuracy on pairs of held-out segments, masked as a masked LM's fixed evaluation is."""
        from bertlab.inputs.batches import Evaluation, heldout_pairs
        from bertlab.objectives.masked_lm import MaskedLM

        batches = heldout_pairs(recipe, corpus, (MaskedLM(), self), size) if final else []
        if not batches:
            return []

        def batch_sums(model: Any, batch: Any) -> Any:
            labels = batch.arrays[self.kind]["labels"]
            right = model.logits(batch, self.kind).argmax(-1) == labels
            return {"right": right.sum(), "count": len(labels)}

        def figures(total: Mapping[str, float]) -> dict[str, float]:
            return {"next_sentence_accuracy": total["right"] / total["count"]}

        return [Evaluation(batches, ("right", "count"), batch_sums, figures)]

    def parameters(self, model: Model, vocabulary: int) -> int:
        """The pooler, and two classes with their biases."""
        return model.hidden * model.hidden + model.hidden + 2 * model.hidden + 2

    def flops(self, model: Model, vocabulary: int, length: int) -> float:
        """The pooler and the classes, once a sequence."""
        return 2.0 * (model.hidden**2 + 2 * model.hidden)

    def audit(self, rows: Any, tokenizer: Tokenizer) -> list[Any]:
        """The labels are those of the pairs."""
        from bertlab.objectives.audit import pair_labels

        return pair_labels(rows, self.kind)
