"""Left-to-right language modelling, as in GPT: each token from those before it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bertlab.arrays import Float64, Integer
from bertlab.inputs.batches import Evaluation, heldout
from bertlab.inputs.checks import Check, always
from bertlab.inputs.sample import Sample
from bertlab.inputs.streams import Sequences, Transform
from bertlab.objectives import sentences
from bertlab.objectives.language_model import LanguageModel, perplexity
from bertlab.recipe import Recipe
from bertlab.recipe.objective import Arrays
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import TokenisedCorpus


@dataclass(frozen=True, kw_only=True)
class CausalLM(LanguageModel):
    """Predicts each token, [SEP] too, from those before it."""

    kind: ClassVar[str] = "causal_lm"
    causal: ClassVar[bool] = True
    metric_labels: ClassVar[Mapping[str, str]] = {"causal_lm_loss": "left to right", "perplexity": "perplexity"}
    hub_task: ClassVar[str] = "text-generation"
    meaning: ClassVar[str] = (
        "Left to right: the loss of the next token on the same text, [SEP] included, and its perplexity. Neither "
        "compares with a masked LM's, which sees both sides of a token."
    )

    scorings: ClassVar[tuple[str, ...]] = ("log-likelihood",)

    @property
    def selection_metric(self) -> str:
        """The loss of the next token."""
        return "causal_lm_loss"

    def predicted(self, length: int) -> float:
        """All tokens but the first are predicted."""
        return (length - 1) / length

    def batch_transform(self, tokenizer: TrainedTokenizer, length: int, seed: int | str) -> Transform:
        """[CLS] predicts the first token, and each [SEP] is predicted; the last [SEP] predicts nothing."""

        def examples(sequences: Sequences) -> Arrays:
            tokens = sequences.tokens
            columns = np.arange(tokens.shape[1] - 1, dtype=np.int32)
            real = columns < sequences.lengths[:, None] - 1
            targets = tokens[:, 1:].astype(np.int32) * real
            return {"positions": columns * real, "targets": targets, "weights": real.astype(np.float32)}

        return examples

    def log_likelihoods(self, model: Any, tokens: Integer) -> Float64:
        """The log-likelihood of each sentence: each token from [CLS] and the tokens before it. Its end does not count:
        [SEP] is where a segment ends in pre-training, and few segments are a sentence."""
        return sentences.log_likelihoods(model, self.kind, tokens)

    def evaluations(self, recipe: Recipe, corpus: TokenisedCorpus, size: int, final: bool) -> list[Evaluation]:
        """The single held-out segments of a masked LM, every next token predicted."""

        def batch_sums(model: Any, batch: Any) -> Any:
            return {"loss": model.losses(batch)[self.kind], "count": batch.arrays[self.kind]["weights"].sum()}

        def metrics(total: Mapping[str, float]) -> dict[str, float]:
            loss = total["loss"] / total["count"]
            return {"causal_lm_loss": loss} | ({"perplexity": perplexity(loss)} if recipe.causal else {})

        # An eighth of the sequences of other evaluations have about as many logits.
        return [Evaluation(heldout(recipe, corpus, (self,), size, together=8), ("loss", "count"), batch_sums, metrics)]

    def audit(self, sample: Sample) -> list[Check]:
        """Each token but the first is predicted from those before it, and none is hidden."""
        batch, arrays = sample.batch, sample.batch.arrays[self.kind]
        slots = np.arange(arrays["positions"].shape[1])
        real = slots < batch.lengths[:, None] - 1
        following = batch.tokens[:, 1 : len(slots) + 1]
        wrong = (arrays["targets"] != following) | (arrays["positions"] != slots) | (arrays["weights"] != 1)
        wrong = (wrong & real).any(axis=1) | (batch.lengths - 1 > len(slots))
        shown = (batch.tokens == sample.corpus.tokenizer.mask).any(axis=1)
        return [
            always("targets", "the next token at each position", wrong, sample.name),
            always("[MASK]", "never shown", shown, sample.name),
        ]
