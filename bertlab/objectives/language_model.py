"""Shared parts of masked and left-to-right language models: prediction slots, the LM head and its cost."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from bertlab.errors import BadInput
from bertlab.recipe.objective import Arrays, Loss
from bertlab.recipe.ranges import SHARE
from bertlab.wording import join_words

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.model.heads import LMHead
    from bertlab.recipe import BackboneConfig, Recipe


@dataclass(frozen=True, kw_only=True)
class LanguageModel(Loss):
    """Predicts tokens in K slots per sequence; the token embeddings are the output matrix.

    Its arrays are `positions`, `targets` and `weights`, (B, K) each: the position, the id, and 1 for a prediction. An
    empty slot is 0 in all three.
    """

    head: ClassVar[str] = "lm_head"
    over_vocabulary: ClassVar[bool] = True
    share: Annotated[float, SHARE] = 1.0
    """Share of the sequences that it has. Language models with shares below 1 divide those of a batch, by a draw for
    each sequence and epoch; each has its own mask of attention, and counts by its share."""

    @property
    def one_sided(self) -> bool:
        """Whether it predicts a token from one side of it, and hides none."""
        return self.causal

    def check(self, recipe: Recipe) -> None:
        """The shares of language models add up to 1 where they divide the sequences, and else all see the same."""
        every = [loss for loss in recipe.objective if isinstance(loss, LanguageModel)]
        total = sum(loss.share for loss in every)
        if min(loss.share for loss in every) < 1 and abs(total - 1) > 1e-9:
            shares = ", ".join(f"{loss.kind} {loss.share:g}" for loss in every)
            raise BadInput(f"objective: the shares of the sequences are {shares}: give shares that add up to 1")
        if total > 1 and len({loss.one_sided for loss in every}) > 1:
            raise BadInput(
                f"objective: {join_words([loss.kind for loss in every])} see one side of a token and both: choose one, "
                "or give each a share of the sequences"
            )
        if self.causal and recipe.model.apart:
            raise BadInput(
                f"objective: {self.kind} predicts from the left alone, and half of a vector of {recipe.model.kind} has "
                "read the right: set objective to bidirectional_lm"
            )

    @abstractmethod
    def predicted(self, length: int) -> float:
        """Predicted tokens as a share of all, in sequences of `length` tokens."""

    def count(self, arrays: Arrays) -> float:
        """The number of predicted tokens."""
        return float(arrays["weights"].sum())

    def new_head(self, model: BackboneConfig, vocabulary: int) -> nn.Module:
        """BERT's transform and output bias."""
        from bertlab.model.heads import LMHead

        return LMHead(model, vocabulary)

    def loss_sum(self, head: LMHead, hidden: Tensor, arrays: Arrays, embeddings: Tensor) -> Tensor:
        """Cross-entropy over the vocabulary, at the slots alone."""
        return head.loss(hidden, embeddings, arrays["targets"], arrays["weights"], sparse=self.causal)

    def parameters(self, model: BackboneConfig, vocabulary: int) -> int:
        """Transform, LayerNorm and output bias; the output matrix is tied to the token embeddings."""
        return model.embedding_width * (model.hidden + (3 if model.biases else 1)) + vocabulary

    def flops(self, model: BackboneConfig, vocabulary: int, length: int) -> float:
        """Transform and logits, at the predicted tokens."""
        return 2.0 * length * self.predicted(length) * model.embedding_width * (model.hidden + vocabulary)


def perplexity(loss: float) -> float:
    """The perplexity of a mean loss in nats."""
    return math.exp(min(loss, 700.0))
