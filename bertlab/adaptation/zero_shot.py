"""Zero-shot use of a pre-trained model: it is not trained, and its own objective says how probable sentences are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from bertlab.adaptation.base import EVALUATION_TOKENS, Adaptation, Inputs
from bertlab.arrays import Float64, Integer
from bertlab.errors import BadInput
from bertlab.progress import stop_if_asked
from bertlab.recipe.identity import to_canonical
from bertlab.recipe.objective import Loss
from bertlab.recipe.ranges import FieldError
from bertlab.recipe.recipe import Recipe
from bertlab.tasks.examples import Examples, TaskBatch, sizes
from bertlab.tasks.kinds.base import TaskKind
from bertlab.wording import join_words

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.machine import Machine
    from bertlab.model.heads import PretrainingModel
    from bertlab.progress import Progress

SPECIALS = 2
"""[CLS] and [SEP], around every sentence."""
SENTENCES_AT_ONCE = 256
"""Sentences of equal length that are scored together: those of a pair mostly are, and share masked copies."""


class Untrained(Adaptation):
    """What adaptations share that train nothing."""

    runs = "zero-shot"
    intermediate = False
    trains = False
    trained_share = 0.0
    train_cost = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if useless := to_canonical(self).keys() - {"kind", "length", "max_eval_examples"}:
            raise FieldError(self._group, min(useless), f"has no effect, as {self.kind} trains nothing: leave it out")

    @classmethod
    def at_scale(cls, finetuning: Adaptation, features: Adaptation) -> Self:
        """The length and the number of examples of the scale's fine-tuning."""
        return cls(length=finetuning.length, max_eval_examples=finetuning.max_eval_examples)

    def steps(self, examples: int) -> int:
        """No updates."""
        return 0


@dataclass(frozen=True, kw_only=True)
class ZeroShot(Untrained):
    """Trains nothing: the score of a sentence is its log-likelihood, or its pseudo-log-likelihood by a masked LM.

    The first language model of the objective scores, always in fp32, with sums in fp64.
    """

    kind = "zero-shot"
    description = "nothing trained: the likelihoods of sentences"
    stage = "scoring"

    def unsupported_reason(self, kind: TaskKind) -> str:
        """It answers nothing but which sentence is more probable."""
        if kind.trained:
            return f"zero-shot compares sentences and trains no head, its task is {kind.name}: use FineTuning"
        return super().unsupported_reason(kind)

    def check(self, recipe: Recipe) -> None:
        """Raises `BadInput` for an objective without a language model."""
        scorer(recipe.objective)

    def adapt(
        self, model: PretrainingModel, kind: TaskKind, labels: Sequence[str], key: Sequence[int | str]
    ) -> nn.Module:
        """The model as it is."""
        return model.requires_grad_(False)

    def inputs(self, model: PretrainingModel, part: Examples, machine: Machine, progress: Progress) -> Inputs:
        """The scores of the sentences of each example, on the CPU: for each way of scoring those of its sentences."""
        import torch

        scores = sentence_scores(model.to(machine.device).eval(), part.sequences, progress)  # (R, M)
        of_examples = scores.reshape(len(part), part.choices, -1).transpose(0, 2, 1).reshape(len(part), -1)

        def build(indices: Integer) -> TaskBatch:
            targets = part.batch(indices).targets
            return {"scores": torch.from_numpy(of_examples[indices]), "targets": torch.from_numpy(targets).long()}

        return Inputs(part.lengths, build, EVALUATION_TOKENS)

    def logits(self, model: nn.Module, kind: TaskKind, batch: TaskBatch) -> Tensor:
        """(B, 1, M x 2) the scores, nats, fp64: for each way of scoring those of the two sentences of a pair."""
        scores: Tensor = batch["scores"]
        return scores[:, None]

    def evaluated_tokens(self, recipe: Recipe, tokens: float) -> float:
        """The tokens of all passes over both sentences."""
        return tokens * scorer(recipe.objective).passes(tokens / 2)


def scorer(objective: Sequence[Loss]) -> Loss:
    """The first loss that scores sentences. Raises `BadInput` if there is none."""
    for loss in objective:
        if loss.scorings and loss.share:
            return loss
    kinds = join_words([loss.kind for loss in objective])
    raise BadInput(f"objective: no loss of {kinds} scores sentences: zero-shot needs a language model, as masked_lm")


def sentence_scores(model: PretrainingModel, sequences: Sequence[Integer], progress: Progress) -> Float64:
    """The scores (R, M) of R sentences with their specials, in M ways, by a model in evaluation mode.

    Equal sentences are scored once, and sentences of one length together, so that nothing is padded.
    """
    import torch

    loss = scorer(model.objective)
    numbers: dict[bytes, int] = {}
    row_of = np.array([numbers.setdefault(one.astype(np.int32).tobytes(), len(numbers)) for one in sequences])
    rows = [np.frombuffer(row, np.int32) for row in numbers]
    lengths, scores = sizes(rows), np.zeros((len(rows), len(loss.scorings)))
    done = int((lengths <= SPECIALS).sum())  # nothing is certain
    with torch.inference_mode():
        for length in np.unique(lengths[lengths > SPECIALS]):
            of_length = np.flatnonzero(lengths == length)
            for begin in range(0, len(of_length), SENTENCES_AT_ONCE):
                stop_if_asked()
                part = of_length[begin : begin + SENTENCES_AT_ONCE]
                scores[part] = loss.log_likelihoods(model, np.stack([rows[row] for row in part]))
                done += len(part)
                progress(done, len(rows), "scoring sentences")
    of_sentences: Float64 = scores[row_of]
    return of_sentences
