"""Losses on pairs of segments: two classes from [CLS], their cost, their accuracies on each other's pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bertlab.errors import BadInput
from bertlab.inputs.batches import Evaluation, heldout_pairs
from bertlab.inputs.checks import Check, always
from bertlab.inputs.sample import Sample
from bertlab.inputs.streams import Batch, Sequences, Transform
from bertlab.objectives.masked_lm import MaskedLM
from bertlab.recipe import BackboneConfig, Recipe
from bertlab.recipe.objective import Arrays, Loss, Premise
from bertlab.recipe.ranges import arms
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import Part, TokenisedCorpus

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.model.heads import PairHead

UNLABELLED = -100
"""The label of a pair that is not classified; cross-entropy ignores it."""


class SentencePair(Loss):
    """Predicts from [CLS] whether two segments stand as in a text (0) or not (1).

    Its array: `labels` (B,), `UNLABELLED` where there is nothing to predict. Its one figure, `..._accuracy`, is the
    accuracy on held-out pairs of its own.
    """

    head: ClassVar[str] = "nsp_head"
    labels_only: ClassVar[bool] = True
    labels: ClassVar[str]
    """The array of a format of pairs that has the labels, -1 where there is none."""
    labelled: ClassVar[str] = "have a label"
    """What the pairs with a label are."""

    def check(self, recipe: Recipe) -> None:
        """It needs two segments, and a [CLS] that sees them."""
        if any(loss.causal and loss.share for loss in recipe.objective):
            raise BadInput(f"objective: {self.kind} reads [CLS], which sees nothing with causal_lm: leave it out")
        if not recipe.inputs.format.pairs:
            raise BadInput(
                f"inputs.format {recipe.inputs.format.kind} has one segment: leave {self.kind} out of the objective "
                "too, as with objective=masked_lm"
            )

    @property
    def all_metric_labels(self) -> Mapping[str, str]:
        """The accuracies on the pairs of all losses of this kind."""
        return {name: label for task in arms(SentencePair).values() for name, label in task.metric_labels.items()}

    def premises(self, recipe: Recipe) -> tuple[Premise, ...]:
        """It has been learned: its accuracy on its own pairs, which depend on the format, is above the majority's."""
        (metric,) = self.metric_labels
        return (Premise(f"{self} of {recipe.inputs.format}", metric),)

    def batch_transform(self, tokenizer: TrainedTokenizer, length: int, seed: int | str) -> Transform:
        """The labels with which the pairs were drawn."""

        def examples(sequences: Sequences) -> Arrays:
            drawn = sequences.format.get(self.labels, np.full_like(sequences.lengths, -1))
            return {"labels": np.where(drawn < 0, np.int32(UNLABELLED), drawn)}

        return examples

    def count(self, arrays: Arrays) -> float:
        """The number of labelled pairs, 1 if there is none."""
        return max(1.0, float((arrays["labels"] != UNLABELLED).sum()))

    def targets(self, batch: Batch, text: Part) -> Mapping[str, Any]:
        """The pairs with a label."""
        return {f"of the pairs {self.labelled}": batch.arrays[self.kind]["labels"] != UNLABELLED}

    def new_head(self, model: BackboneConfig, vocabulary: int) -> nn.Module:
        """BERT's pooler and two classes."""
        from bertlab.model.heads import PairHead

        return PairHead(model.hidden)

    def positions(self, arrays: Arrays) -> None:
        """It reads [CLS]."""

    def loss_sum(self, head: PairHead, hidden: Tensor, arrays: Arrays, embeddings: Tensor) -> Tensor:
        """Cross-entropy of the two classes."""
        return head.loss(hidden, arrays["labels"])

    def evaluations(self, recipe: Recipe, corpus: TokenisedCorpus, size: int, final: bool) -> list[Evaluation]:
        """The accuracies on held-out pairs of its own and of the other losses of this kind (ALBERT section 4.6).

        The pairs are masked as in a masked LM's fixed evaluation. They do not depend on the loss of the training.
        """
        others = [task() for task in arms(SentencePair).values() if task.kind != self.kind]
        evaluations = [self._accuracy(task, recipe, corpus, size) for task in (self, *others)] if final else []
        return [evaluation for evaluation in evaluations if evaluation is not None]

    def _accuracy(self, task: SentencePair, recipe: Recipe, corpus: TokenisedCorpus, size: int) -> Evaluation | None:
        """The accuracy of its head on pairs of `task`; None if no pair has a label."""
        batches = heldout_pairs(recipe, corpus, (MaskedLM(), task), size)
        if not any((batch.arrays[task.kind]["labels"] != UNLABELLED).any() for batch in batches):
            return None
        (name,) = task.metric_labels

        def batch_sums(model: Any, batch: Any) -> Any:
            labels = batch.arrays[task.kind]["labels"]
            right = model.logits(batch, self.kind, task.kind).argmax(-1) == labels
            return {"right": right.sum(), "ones": (labels == 1).sum(), "count": (labels != UNLABELLED).sum()}

        def metrics(total: Mapping[str, float]) -> dict[str, float]:
            ones = total["ones"] / total["count"]
            guess = name.removesuffix("accuracy") + "majority"
            return {name: total["right"] / total["count"], guess: max(ones, 1 - ones)}

        return Evaluation(batches, ("right", "ones", "count"), batch_sums, metrics)

    def parameters(self, model: BackboneConfig, vocabulary: int) -> int:
        """The pooler, and two classes with their biases."""
        return model.hidden * model.hidden + model.hidden + 2 * model.hidden + 2

    def flops(self, model: BackboneConfig, vocabulary: int, length: int) -> float:
        """The pooler and the classes, once a sequence."""
        return 2.0 * (model.hidden**2 + 2 * model.hidden)

    def audit(self, sample: Sample) -> list[Check]:
        """Each label is the one that its pair was drawn with; pairs without a label have none."""
        drawn, labels = sample.batch.format[self.labels], sample.batch.arrays[self.kind]["labels"]
        wrong = np.where(drawn < 0, labels >= 0, labels != drawn)
        share_text = f"{(labels >= 0).mean():.2%} of the pairs have one"
        expected = "those that the pairs were drawn with"
        return [always(f"labels of {self.kind}", expected, wrong, sample.name, share_text)]
