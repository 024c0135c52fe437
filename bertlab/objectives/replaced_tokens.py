"""Replaced token detection (ELECTRA: Clark et al. 2020, section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from bertlab.inputs.batches import Evaluation, heldout
from bertlab.objectives.generator import OnSamples
from bertlab.recipe import BackboneConfig, Recipe
from bertlab.recipe.objective import Arrays
from bertlab.recipe.ranges import Range
from bertlab.text.tokens import TokenisedCorpus

if TYPE_CHECKING:
    from torch import Tensor

    from bertlab.model.electra import DetectionHead


@dataclass(frozen=True, kw_only=True)
class ReplacedTokens(OnSamples):
    """Predicts of each token whether it was replaced by a sample of the `TokenGenerator` before it in the objective. A
    sample that is the token of the text counts as original.

    The training adds its loss times `weight`, and logs it so; held-out losses are without the weight.
    """

    kind: ClassVar[str] = "replaced_tokens"
    head: ClassVar[str] = "detection_head"
    figure: ClassVar[str] = "replaced_tokens_accuracy"
    metric_labels: ClassVar[Mapping[str, str]] = {
        "replaced_tokens_loss": "replaced or original",
        "replaced_tokens_accuracy": "replaced or original, accuracy",
    }
    meaning: ClassVar[str] = (
        "Replaced or original: whether each token of held-out text was replaced by a sample of the model's own "
        "generator. The better the generator, the fewer tokens differ from the text, and the harder they are to find."
    )
    weight: Annotated[float, Range(0.001, 10_000)] = 50.0
    """What its mean loss is multiplied by, beside the generator's; 50 in ELECTRA."""
    tokens: Literal["all", "masked"] = "all"
    """The tokens of which it is predicted: `all`, specials included, or those that are `masked` for the generator
    (ELECTRA 15 %, section 3.5)."""

    @property
    def selection_metric(self) -> str:
        """Its loss without the weight."""
        return "replaced_tokens_loss"

    def new_head(self, model: BackboneConfig, vocabulary: int) -> DetectionHead:
        """A layer and a logit."""
        from bertlab.model.electra import DetectionHead

        return DetectionHead(model)

    def loss_sum(self, head: DetectionHead, hidden: Tensor, arrays: Arrays, embeddings: Tensor) -> Tensor:
        """Binary cross-entropy of being replaced, times the weight."""
        return self.weight * _loss_sum(head(hidden), arrays)

    def evaluations(self, recipe: Recipe, corpus: TokenisedCorpus, size: int, final: bool) -> list[Evaluation]:
        """Single held-out segments whose tokens the generator of the objective replaces."""

        def batch_sums(model: Any, batch: Any) -> Any:
            prepared = model.prepared(batch)
            arrays, logits = prepared.arrays[self.kind], model.logits(prepared, self.kind)
            replaced, weights = arrays["shown"] != arrays["targets"], arrays["weights"]
            right = ((logits > 0) == replaced) * weights
            sums = {"right": right.sum(), "replaced": (replaced * weights).sum(), "count": weights.sum()}
            return {"loss": _loss_sum(logits, arrays), **sums}

        def metrics(total: Mapping[str, float]) -> dict[str, float]:
            loss, right, replaced = (total[name] / total["count"] for name in ("loss", "right", "replaced"))
            majority = max(replaced, 1 - replaced)
            names = (*self.metric_labels, "replaced_tokens_majority")
            return dict(zip(names, (loss, right, majority), strict=True))

        names = ("loss", "right", "replaced", "count")
        return [Evaluation(heldout(recipe, corpus, recipe.objective, size), names, batch_sums, metrics)]

    def parameters(self, model: BackboneConfig, vocabulary: int) -> int:
        """A layer and a logit, with their biases."""
        return (model.hidden + 1) * (model.hidden + 1)

    def flops(self, model: BackboneConfig, vocabulary: int, length: int) -> float:
        """The layer and the logit, at the predicted tokens."""
        return 2.0 * length * self.predicted * model.hidden * (model.hidden + 1)


def _loss_sum(logits: Tensor, arrays: Arrays) -> Tensor:
    """The sum of the losses at the logits (B, K) of being replaced, in fp32, or in fp64 if the logits are."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    replaced = (arrays["shown"] != arrays["targets"]).to(wide.dtype)
    return binary_cross_entropy_with_logits(wide, replaced, arrays["weights"].to(wide.dtype), reduction="sum")
