"""Fine-tuning on a task (BERT section 4 and appendix A.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from bertlab import keyed
from bertlab.adaptation.base import Adaptation
from bertlab.recipe import cost
from bertlab.recipe.backbones.base import BackboneConfig
from bertlab.recipe.ranges import DROPOUT, Range
from bertlab.tasks.kinds.base import TaskKind

if TYPE_CHECKING:
    from torch import nn

    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import PretrainingModel


@dataclass(frozen=True, kw_only=True)
class FineTuning(Adaptation):
    """Trains the encoder and the head of the task together."""

    kind = "finetune"
    stage = "fine-tuning"
    searched = True

    bilstm: bool = False
    """A two-layer BiLSTM, randomly initialised, between the encoder and the head (BERT section 5.1)."""
    frozen: bool = False
    """Freezes the encoder, without dropout; trains pooler, BiLSTM and head."""
    answerability: bool = False
    """Spans only: a jointly trained binary classifier decides whether a question has an answer (RoBERTa section 3.3),
    instead of a threshold on the score of the best span."""
    beam_search: bool = False
    """Answers that are texts only: the best of four beams, with a length penalty of 0.6 (Raffel et al. 2020, section
    3.7), instead of the most probable token of each step."""
    head_dropout: Annotated[float, DROPOUT] = 0.0
    """Probability of dropout above the encoder; 0 for that of `dropout`. ALBERT has 0.1 under the classifier of tasks
    whose encoder has none (appendix A.4)."""
    head_lr: Annotated[float, Range(0, 1000, above=True)] = 1.0
    """The learning rate of what is above the encoder as a multiple of `peak_lr`."""
    layer_decay: Annotated[float, Range(0, 1, above=True)] = 1.0
    """The learning rate of each layer as a fraction of the next one's; the embeddings are the lowest level, the head is
    the highest."""

    @property
    def description(self) -> str:
        """All weights are trained, or the head only."""
        return "the head trained on a frozen encoder" if self.frozen else "all weights fine-tuned"

    @property
    def trained_share(self) -> float:
        """What is above a frozen encoder, perhaps a BiLSTM, or all weights."""
        return 0.1 if self.frozen else 1.0

    def adapt(
        self, model: PretrainingModel, kind: TaskKind, labels: Sequence[str], key: Sequence[int | str]
    ) -> nn.Module:
        """The encoder under the head of the task, each with its dropout."""
        from bertlab.model.layers import set_dropout

        adapted = super().adapt(model, kind, labels, key)
        if self.head_dropout:
            set_dropout(adapted, self.head_dropout)
            set_dropout(model.encoder, self.dropout)
        return adapted

    def encoder(self, model: PretrainingModel, key: Sequence[int | str]) -> Backbone:
        """The encoder, under a BiLSTM if there is one."""
        from bertlab.model.recurrent import RecurrentEncoder

        if self.frozen:
            model.encoder.requires_grad_(False).eval()
        return RecurrentEncoder(model.encoder, keyed.key(*key, "recurrent")) if self.bilstm else model.encoder

    def lr_multipliers(self, model: nn.Module) -> dict[nn.Parameter, float]:
        """`head_lr` above the encoder; `layer_decay` for its last layer, its powers below (Clark et al. 2020, appendix
        A). Parameters that layers share have the rate of the last layer.
        """
        levels = levels_of(model)
        return dict.fromkeys(model.parameters(), self.head_lr) | {
            value: self.layer_decay ** (len(levels) - index)
            for index, level in enumerate(levels)
            for value in level.parameters()
        }

    def flops(
        self, model: BackboneConfig, trained: float, evaluated: float, passes: float, *, causal: bool = False
    ) -> float:
        """Three forward passes per token, one through a frozen encoder."""
        forward = model.flops_per_token(self.length, causal)
        above = cost.recurrent_flops(model.hidden, model.hidden // 2, 2) if self.bilstm else 0.0
        encoder = forward * (1.0 if self.frozen else 3.0)
        return passes * trained * (encoder + 3.0 * above) + evaluated * (forward + above)


def levels_of(model: nn.Module) -> list[nn.Module]:
    """The levels of the encoder in a prepared model, lowest first; none where there is no encoder."""
    from bertlab.model.backbone import Backbone

    # By its class, as a head of a study file may name it otherwise; with a BiLSTM, that comes first.
    encoder = next((module for module in model.modules() if isinstance(module, Backbone)), None)
    return [] if encoder is None else encoder.levels
