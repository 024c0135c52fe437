"""Language modelling from both sides, as in ELMo (Peters et al. 2018, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bertlab.arrays import Float64, Integer
from bertlab.errors import BadInput
from bertlab.inputs.batches import Evaluation, heldout
from bertlab.inputs.checks import Check, always
from bertlab.inputs.sample import Sample
from bertlab.inputs.streams import Sequences
from bertlab.objectives import sentences
from bertlab.objectives.language_model import LanguageModel, perplexity
from bertlab.recipe import BackboneConfig, Recipe
from bertlab.recipe.objective import Arrays
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import TokenisedCorpus

if TYPE_CHECKING:
    from torch import Tensor, nn

METRIC_LABELS = {
    "bidirectional_lm_loss": "both directions",
    "left_to_right_loss": "left to right",
    "right_to_left_loss": "right to left",
    "left_to_right_perplexity": "perplexity from the left",
    "right_to_left_perplexity": "perplexity from the right",
    "bidirectional_perplexity": "mean perplexity",
}


@dataclass(frozen=True, kw_only=True)
class BidirectionalLM(LanguageModel):
    """Predicts each token from those before it, by the left-to-right half of the vector in front of it, and from those
    behind it, by the right-to-left half of the vector behind it. Both halves have the same output layer: the token
    embeddings and a bias.

    The slots of its arrays are neighbours: slot k predicts token k + 1 (`following`) from position k, and token k
    (`preceding`) from position k + 1.
    """

    kind: ClassVar[str] = "bidirectional_lm"
    head: ClassVar[str] = "bilm_head"
    metric_labels: ClassVar[Mapping[str, str]] = METRIC_LABELS
    scorings: ClassVar[tuple[str, ...]] = ("mean log-likelihood of both directions",)
    meaning: ClassVar[str] = (
        "Both directions: the mean of two language models, from the left and from the right, on the same text. The one "
        "predicts all but [CLS], the other all but the last [SEP]. The mean perplexity is that of the mean loss. "
        "None of these compares with a masked LM's loss, which sees both sides of a token at once."
    )

    @property
    def one_sided(self) -> bool:
        """Each direction does."""
        return True

    @property
    def selection_metric(self) -> str:
        """The mean of both directions."""
        return "bidirectional_lm_loss"

    def check(self, recipe: Recipe) -> None:
        """Raises `BadInput` for a backbone whose directions see each other."""
        super().check(recipe)
        if not recipe.model.apart:
            raise BadInput(
                f"objective: {self.kind} needs a model that keeps its directions apart, and in one of the kind "
                f"{recipe.model.kind} they meet: set model to bilstm"
            )

    def predicted(self, length: int) -> float:
        """Each token but one in either direction."""
        return 2 * (length - 1) / length

    def batch_transform(
        self, tokenizer: TrainedTokenizer, length: int, seed: int | str
    ) -> Callable[[Sequences], Arrays]:
        """Each pair of neighbours is a slot."""

        def examples(sequences: Sequences) -> Arrays:
            tokens = sequences.tokens.astype(np.int32)
            real = np.arange(tokens.shape[1] - 1) < sequences.lengths[:, None] - 1
            return {
                "following": tokens[:, 1:] * real,
                "preceding": tokens[:, :-1] * real,
                "weights": real.astype(np.float32),
            }

        return examples

    def count(self, arrays: Arrays) -> float:
        """The predictions of both directions."""
        return 2 * super().count(arrays)

    def positions(self, arrays: Arrays) -> Tensor:
        """The first K + 1 positions of each sequence, for K slots."""
        import torch

        weights: Tensor = arrays["weights"]
        return torch.arange(weights.shape[1] + 1, device=weights.device).expand(len(weights), -1)

    def new_head(self, model: BackboneConfig, vocabulary: int) -> nn.Module:
        """A bias of the output layer."""
        from bertlab.model.bilstm import DirectionsHead

        return DirectionsHead(vocabulary)

    def loss_sum(self, head: Any, hidden: Tensor, arrays: Arrays, embeddings: Tensor) -> Tensor:
        """The sum of the cross-entropies of both directions."""
        right, left = self._losses(head, hidden, arrays, embeddings)
        return right + left

    def _losses(self, head: Any, hidden: Tensor, arrays: Arrays, embeddings: Tensor) -> tuple[Tensor, Tensor]:
        """The sums of either direction, from the vectors (B, K + 1, D)."""
        right, left = hidden.chunk(2, -1)
        return (
            head.loss(right[:, :-1], embeddings, arrays["following"], arrays["weights"]),
            head.loss(left[:, 1:], embeddings, arrays["preceding"], arrays["weights"]),
        )

    def parameters(self, model: BackboneConfig, vocabulary: int) -> int:
        """The bias; the output matrix is tied to the token embeddings."""
        return vocabulary

    def flops(self, model: BackboneConfig, vocabulary: int, length: int) -> float:
        """Logits of both directions."""
        return 2.0 * length * self.predicted(length) * model.embedding_width * vocabulary

    def evaluations(self, recipe: Recipe, corpus: TokenisedCorpus, size: int, final: bool) -> list[Evaluation]:
        """The single held-out segments of a masked LM, every token predicted from either side."""

        together = max(8, 4096 // recipe.inputs.length)  # few short sequences keep LSTMs waiting, long ones fill memory
        data = heldout(recipe, corpus, (self,), size, together)
        return [Evaluation(data, ("right", "left", "count"), self.batch_sums, self.totals)]

    def batch_sums(self, model: Any, batch: Any) -> dict[str, Any]:
        """The sums of both losses over a held-out batch, and the predictions of either."""
        arrays, encoder = batch.arrays[self.kind], model.encoder
        hidden = encoder.read(encoder.embed(batch), batch.lengths, {self.kind: self.reads(arrays)})[self.kind]
        right, left = self._losses(model.head(self), hidden, arrays, encoder.output_embeddings)
        return {"right": right, "left": left, "count": arrays["weights"].sum()}

    def log_likelihoods(self, model: Any, tokens: Integer) -> Float64:
        """The mean of the log-likelihoods of each sentence from the left and from the right. Each direction gives one
        of the whole sentence; the mean, unlike the sum, has the size of a left-to-right model's. [CLS] and [SEP] do not
        count."""
        from torch import from_numpy

        from bertlab.model.streams import TensorBatch

        encoder, sums = model.encoder, []
        matrix, inner = encoder.output_embeddings, tokens.shape[1] - 2
        for part in sentences.parts(len(tokens), tokens.shape[1], 2 * inner, len(matrix)):
            read = from_numpy(tokens[part].astype(np.int64)).to(matrix.device)
            arrays = {"weights": read[:, 1:]}  # a slot for each pair of neighbours
            batch = TensorBatch.of(read, None, {self.kind: arrays})
            hidden = encoder.read(encoder.embed(batch), batch.lengths, {self.kind: self.reads(arrays)})[self.kind]
            right, left = (
                sentences.of_targets(model.head(self)(vectors, matrix).float(), read[:, 1:-1])
                for vectors in (hidden.chunk(2, -1)[0][:, :-2], hidden.chunk(2, -1)[1][:, 2:])
            )
            sums.append((right + left) / 2)
        return np.concatenate(sums)[:, None]

    def totals(self, sums: Mapping[str, float]) -> dict[str, float]:
        """The figures of these sums over all held-out batches."""
        right, left = sums["right"] / sums["count"], sums["left"] / sums["count"]
        losses = (right + left) / 2, right, left
        return dict(zip(METRIC_LABELS, (*losses, *map(perplexity, (right, left, losses[0]))), strict=True))

    def audit(self, sample: Sample) -> list[Check]:
        """Each token is predicted from its neighbours on either side, never from a position that has read it."""
        batch, arrays = sample.batch, sample.batch.arrays[self.kind]
        slots = np.arange(arrays["weights"].shape[1])
        real = slots < batch.lengths[:, None] - 1
        after = arrays["following"] != batch.tokens[:, 1 : len(slots) + 1]
        before = arrays["preceding"] != batch.tokens[:, : len(slots)]
        lacking = (arrays["weights"] != real).any(axis=1) | (batch.lengths - 1 > len(slots))
        return [
            always("targets from the left", "the next token", (after & real).any(axis=1) | lacking, sample.name),
            always("targets from the right", "the token before", (before & real).any(axis=1) | lacking, sample.name),
        ]
