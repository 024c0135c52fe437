"""Masked language models on samples (Clark et al. 2020, section 3.5): what lies between BERT and ELECTRA."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from bertlab.inputs.batches import Evaluation, heldout
from bertlab.objectives.generator import OnSamples
from bertlab.recipe import BackboneConfig, Recipe
from bertlab.recipe.objective import Arrays
from bertlab.text.tokens import TokenisedCorpus

if TYPE_CHECKING:
    from torch import Tensor

    from bertlab.model.electra import CopyingLMHead


@dataclass(frozen=True, kw_only=True)
class SampledLM(OnSamples):
    """Predicts the tokens of the text where samples of a `TokenGenerator` have taken the place of some."""

    kind: ClassVar[str] = "sampled_lm"
    head: ClassVar[str] = "sampled_lm_head"
    over_vocabulary: ClassVar[bool] = True
    figure: ClassVar[str] = "sampled_lm_loss"
    metric_labels: ClassVar[Mapping[str, str]] = {"sampled_lm_loss": "tokens behind samples"}
    meaning: ClassVar[str] = (
        "Tokens behind samples: the loss of the tokens of held-out text whose places the samples of the model's own "
        "generator have taken, without the probability of copying. A sample is often the token itself, so it does not "
        "compare with the loss of a masked LM."
    )
    tokens: Literal["masked", "all"] = "masked"
    """The tokens that it predicts: those that are `masked` for the generator (Replace MLM), or `all` (All-Tokens MLM),
    each of which is then copied with a learned probability."""

    @property
    def selection_metric(self) -> str:
        """The loss of the tokens that are masked for the generator."""
        return "sampled_lm_loss"

    def new_head(self, model: BackboneConfig, vocabulary: int) -> CopyingLMHead:
        """An LM head, with a probability of copying if it predicts all tokens."""
        from bertlab.model.electra import CopyingLMHead

        return CopyingLMHead(model, vocabulary, copies=self.tokens == "all")

    def loss_sum(self, head: CopyingLMHead, hidden: Tensor, arrays: Arrays, embeddings: Tensor) -> Tensor:
        """Cross-entropy over the vocabulary."""
        losses = head.losses(hidden, embeddings, arrays["shown"], arrays["targets"].long())
        total: Tensor = (losses * arrays["weights"]).sum()
        return total

    def evaluations(self, recipe: Recipe, corpus: TokenisedCorpus, size: int, final: bool) -> list[Evaluation]:
        """The tokens of single held-out segments that are masked for the generator of the objective."""

        def batch_sums(model: Any, batch: Any) -> Any:
            from torch.nn.functional import cross_entropy

            prepared = model.prepared(batch)
            arrays, logits = prepared.arrays[self.kind], model.logits(prepared, self.kind)
            losses = cross_entropy(logits.transpose(1, 2), arrays["targets"], reduction="none")
            return {"loss": (losses * arrays["weights"]).sum(), "count": arrays["weights"].sum()}

        def metrics(total: Mapping[str, float]) -> dict[str, float]:
            return {self.selection_metric: total["loss"] / total["count"]}

        masked = dataclasses.replace(self, tokens="masked")
        objective = tuple(masked if loss == self else loss for loss in recipe.objective)
        return [Evaluation(heldout(recipe, corpus, objective, size), ("loss", "count"), batch_sums, metrics)]

    def parameters(self, model: BackboneConfig, vocabulary: int) -> int:
        """Transform, LayerNorm and output bias, and what decides whether to copy."""
        head = model.embedding_width * (model.hidden + (3 if model.biases else 1)) + vocabulary
        return head + (model.hidden + 1 if self.tokens == "all" else 0)

    def flops(self, model: BackboneConfig, vocabulary: int, length: int) -> float:
        """Transform and logits, at the predicted tokens."""
        return 2.0 * length * self.predicted * model.embedding_width * (model.hidden + vocabulary)
