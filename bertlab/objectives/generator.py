"""ELECTRA's generator (Clark et al. 2020, sections 2 and 3.2): a small masked language model that replaces tokens.

The masked tokens and the draws behind the samples are functions of the sequence's key, the epoch and the position.
"""

from __future__ import annotations

import dataclasses
from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from bertlab import keyed
from bertlab.errors import BadInput, at
from bertlab.inputs.batches import Evaluation, heldout
from bertlab.inputs.streams import Sequences, Transform
from bertlab.objectives.masked_lm import Corruption, MaskedLM
from bertlab.recipe import BackboneConfig, Recipe
from bertlab.recipe.objective import INPUTS, Arrays, Loss, Premise
from bertlab.recipe.ranges import FieldError, Range
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import TokenisedCorpus

if TYPE_CHECKING:
    from torch import Tensor

    from bertlab.model.backbone import Backbone
    from bertlab.model.electra import GeneratorHead
    from bertlab.model.streams import TensorBatch

_MASKS = Corruption(mask=1.0, keep=0.0, random=0.0)
_MASKED = 0.15
"""Share of the tokens that are masked in ELECTRA base."""


@dataclass(frozen=True, kw_only=True)
class TokenGenerator(MaskedLM):
    """A masked LM with a narrower model of its own. Samples of what it predicts take the place of the masked tokens,
    before the encoder reads them. It is not fine-tuned.

    It adds `draws` (B, K) to the arrays of a masked LM: uniform in [0, 1), from which a sample follows.
    """

    kind: ClassVar[str] = "generator"
    head: ClassVar[str] = "generator"
    prepares: ClassVar[bool] = True
    metric_labels: ClassVar[Mapping[str, str]] = {"generator_loss": "generator"}
    hub_task: ClassVar[str] = ""
    scorings: ClassVar[tuple[str, ...]] = ()  # it is not the model that is measured
    meaning: ClassVar[str] = (
        "Generator: the masked LM loss of the small model whose samples replace tokens, under its own masking. It is "
        "not the model that is measured on tasks."
    )
    of_head: ClassVar[tuple[str, ...]] = ("width",)
    corruption: Corruption = _MASKS
    """What it sees in place of the chosen tokens: [MASK] (section 2; the released code keeps 15 % of them)."""
    width: Annotated[float, Range(0.01, 1)] = 0.25
    """Its width as a share of the encoder's, with as many layers; 1/3 in ELECTRA base, 1/4 in the others."""
    sharing: Literal["embeddings", "all", "none"] = "embeddings"
    """What it shares with the encoder: token and position embeddings (section 3.2), which are then as wide as the
    encoder's and projected; all weights but those of the heads, at `width` 1; or nothing."""

    @property
    def selection_metric(self) -> str:
        """None: it is not the model that is compared."""
        return ""

    @property
    def out_of_distribution_metrics(self) -> tuple[str, ...]:
        """It is evaluated under its own masking alone."""
        return ()

    def check(self, recipe: Recipe) -> None:
        """It has all sequences, and shares a whole model only with one of its size."""
        super().check(recipe)
        if self.share < 1:
            raise BadInput(f"objective: {self.kind} has a share of {self.share:g}: it needs all sequences, give 1")
        if self.sharing == "all" and self.width != 1:
            raise FieldError(self._group, "sharing", f"is all, and width {self.width:g}: give width 1")

    def cost_equivalent(self) -> TokenGenerator:
        """Selection, corruption and schedule take no time."""
        usual = MaskedLM()
        return dataclasses.replace(
            self, selection=usual.selection, corruption=_MASKS, schedule=usual.schedule, copies=usual.copies
        )

    def batch_transform(self, tokenizer: TrainedTokenizer, length: int, seed: int | str) -> Transform:
        """Masks tokens, and draws the numbers from which samples follow."""
        mask, base = super().batch_transform(tokenizer, length, seed), keyed.key(seed, "sample")

        def examples(sequences: Sequences) -> Arrays:
            arrays = mask(sequences)
            keys = keyed.bits(keyed.key(base, sequences.epoch), sequences.sequence_ids)[:, None]
            draws = keyed.bits(keys, arrays["positions"]) >> np.uint64(40)  # as many bits as fp32 holds
            return {**arrays, "draws": draws.astype(np.float32) * np.float32(2.0**-24)}

        return examples

    def new_head(self, model: BackboneConfig, vocabulary: int) -> GeneratorHead:
        """Its model, without one of its own if it shares all weights, and its LM head."""
        from bertlab.model.electra import GeneratorHead

        return GeneratorHead(self._backbone(model), vocabulary, self.sharing != "all")

    def tie(self, head: GeneratorHead, encoder: Backbone) -> None:
        """Shares the embeddings."""
        if head.encoder is not None and self.sharing == "embeddings":
            with at(f"{self.kind}.sharing"):
                head.encoder.share_embeddings(encoder)

    def prepare(self, head: GeneratorHead, batch: TensorBatch, encoder: Backbone) -> TensorBatch:
        """Replaces the masked tokens by samples, and adds its `losses` (B, K)."""
        arrays, inputs, model = batch.arrays[self.kind], batch.streams[INPUTS], head.encoder or encoder
        positions, targets = arrays["positions"].long(), arrays["targets"].long()
        embedded = model.embed(batch)[INPUTS]
        losses, samples = head(model, embedded, inputs.lengths, positions, targets, arrays["draws"])
        # Empty slots point at [CLS], which stays.
        samples = samples.where(arrays["weights"] > 0, inputs.tokens.gather(1, positions))
        stream = inputs._replace(tokens=inputs.tokens.scatter(1, positions, samples))
        sampled = dataclasses.replace(batch, streams={**batch.streams, INPUTS: stream})
        return sampled.adding(self.kind, losses=losses)

    def positions(self, arrays: Arrays) -> Any:
        """It reads nothing of the encoder."""
        return arrays["positions"][:, :0]

    def loss_sum(self, head: Any, hidden: Tensor, arrays: Arrays, embeddings: Tensor) -> Tensor:
        """Cross-entropy over the vocabulary, of the masked tokens."""
        total: Tensor = (arrays["losses"] * arrays["weights"]).sum()
        return total

    def evaluations(self, recipe: Recipe, corpus: TokenisedCorpus, size: int, final: bool) -> list[Evaluation]:
        """Single held-out segments under its own masking."""

        def batch_sums(model: Any, batch: Any) -> Any:
            arrays = model.prepared(batch).arrays[self.kind]
            return {"loss": (arrays["losses"] * arrays["weights"]).sum(), "count": arrays["weights"].sum()}

        def metrics(total: Mapping[str, float]) -> dict[str, float]:
            return {"generator_loss": total["loss"] / total["count"]}

        return [Evaluation(heldout(recipe, corpus, (self,), size), ("loss", "count"), batch_sums, metrics)]

    def parameters(self, model: BackboneConfig, vocabulary: int) -> int:
        """Its LM head, and what its model does not share."""
        small, rows = self._backbone(model), model.max_length(0)
        head = super().parameters(small, vocabulary)
        if self.sharing == "all":
            return head
        # A model for no token at no position has no tables.
        return head + (small.parameters(0, 0) if self.sharing == "embeddings" else small.parameters(vocabulary, rows))

    def flops(self, model: BackboneConfig, vocabulary: int, length: int) -> float:
        """Its model on all tokens, and its LM head at the masked ones."""
        small = self._backbone(model)
        return length * small.flops_per_token(length, False) + super().flops(small, vocabulary, length)

    def _backbone(self, model: BackboneConfig) -> BackboneConfig:
        return model if self.width == 1 else model.narrowed(self.width)


class OnSamples(Loss, ABC):
    """Predicts something about tokens, after the `TokenGenerator` before it has replaced some of them.

    Its arrays, (B, K) each: `positions`, `targets`, the ids of the text, `weights`, 1 for a prediction, and, once they
    are prepared, `shown`, what the encoder reads. An empty slot is 0 in the first three.
    """

    labels_only: ClassVar[bool] = True
    figure: ClassVar[str]
    """The held-out metric that shows whether it has been learned."""
    tokens: str
    """`all` tokens, or those that are `masked` for the generator."""

    def check(self, recipe: Recipe) -> None:
        """A generator comes before it."""
        before = recipe.objective[: recipe.objective.index(self)]
        if not any(isinstance(loss, TokenGenerator) for loss in before):
            raise BadInput(
                f"objective: {self.kind} needs tokens that a generator replaces: put one before it, as in "
                f"objective=generator,{self.kind}"
            )

    def premises(self, recipe: Recipe) -> tuple[Premise, ...]:
        """It has been learned."""
        return (Premise(str(self), self.figure, of="tokens"),)

    def batch_transform(self, tokenizer: TrainedTokenizer, length: int, seed: int | str) -> Transform:
        """The tokens of the text at all positions, or at those that the generator masks."""
        names = ("positions", "targets", "weights")

        def masked(sequences: Sequences) -> Arrays:
            return {name: sequences.arrays[TokenGenerator.kind][name].copy() for name in names}

        def every(sequences: Sequences) -> Arrays:
            tokens, column = sequences.tokens.copy(), np.arange(sequences.tokens.shape[1], dtype=np.int32)
            TokenGenerator().restore(tokens, sequences.arrays[TokenGenerator.kind])
            used = column < sequences.lengths[:, None]
            return dict(zip(names, (column * used, tokens * used, used.astype(np.float32)), strict=True))

        transforms: dict[str, Callable[[Sequences], Arrays]] = {"masked": masked, "all": every}
        return transforms[self.tokens]

    def prepare(self, head: Any, batch: TensorBatch, encoder: Backbone) -> TensorBatch:
        """Adds the tokens that the generator leaves at its positions."""
        return batch.adding(self.kind, shown=batch.tokens.gather(1, batch.arrays[self.kind]["positions"].long()))

    def count(self, arrays: Arrays) -> float:
        """The number of its predictions."""
        return float(arrays["weights"].sum())

    @property
    def predicted(self) -> float:
        """Predicted tokens as a share of all, by which the cost is estimated."""
        return {"masked": _MASKED, "all": 1.0}[self.tokens]
