"""ELMo's use of a pre-trained model (Peters et al. 2018, sections 3.2 and 3.3): a new BiLSTM reads its layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal, Self, cast

from bertlab import keyed
from bertlab.adaptation.base import Adaptation
from bertlab.recipe import cost
from bertlab.recipe.backbones.base import BackboneConfig
from bertlab.recipe.ranges import Range
from bertlab.recipe.recipe import Rate
from bertlab.tasks.kinds.base import TaskKind

if TYPE_CHECKING:
    from torch import nn

    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import Pooler, PretrainingModel

Levels = Literal["mix", "embeddings", "first", "top"]


@dataclass(frozen=True, kw_only=True)
class ELMo(Adaptation):
    """Trains a BiLSTM over the layers of the pre-trained model, which is frozen, and the head of the task on it.

    Words are tagged, and spans begin and end, at the vectors of the BiLSTM. A text, or a pair of texts, has their mean
    with learned attention.
    """

    kind = "elmo"
    stage = "training a BiLSTM"
    searched = True

    peak_lr: Rate = 1e-3
    """Learning rate of the BiLSTM and the head at the end of the warm-up; a scale sets that of its features."""
    levels: Levels = "mix"
    """What the BiLSTM reads: the sum of the embeddings and all layers with learned weights (a softmax, uniform at
    first) and a learned factor, or one of them alone."""
    frozen: bool = True
    """Whether the pre-trained model keeps its weights, without dropout."""
    encoder_lr: Annotated[float, Range(0, 1000, above=True)] = 0.05
    """The learning rate of a pre-trained model that is not frozen, as a multiple of `peak_lr`; a scale sets its rate of
    fine-tuning."""
    lstm_layers: Annotated[int, Range(1, 16)] = 2
    """Layers of the BiLSTM."""
    lstm_size: Annotated[int, Range(0, 65_536)] = 0
    """Units per direction; 0 for the width of the pre-trained model."""

    @property
    def description(self) -> str:
        """What is trained and what is read."""
        read = {"mix": "all layers", "embeddings": "the embeddings"}.get(self.levels, f"the {self.levels} layer")
        return f"a BiLSTM trained on {read} of a {'frozen' if self.frozen else 'fine-tuned'} model"

    @property
    def trained_share(self) -> float:
        """The BiLSTM, and a model that is not frozen."""
        return 0.25 if self.frozen else 1.25

    @classmethod
    def at_scale(cls, finetuning: Adaptation, features: Adaptation) -> Self:
        """The setting of fine-tuning, with the BiLSTM and the learning rate of the scale's features."""
        setting = super().at_scale(finetuning, features)
        return replace(
            setting,
            peak_lr=features.peak_lr,
            encoder_lr=finetuning.peak_lr / features.peak_lr,
            lstm_layers=getattr(features, "lstm_layers", cls.lstm_layers),
            lstm_size=getattr(features, "lstm_size", cls.lstm_size),
        )

    def adapt(
        self, model: PretrainingModel, kind: TaskKind, labels: Sequence[str], key: Sequence[int | str]
    ) -> nn.Module:
        """The BiLSTM over the model, under the head of the task, without a pooler."""
        from torch import nn

        encoder, pooler = self.encoder(model, key), cast("Pooler", nn.Identity())
        return kind.head(encoder, pooler, labels, self.dropout, keyed.key(*key, "head"), self.options(kind))

    def encoder(self, model: PretrainingModel, key: Sequence[int | str]) -> Backbone:
        """The BiLSTM over the model."""
        from bertlab.model.elmo import LayerReader

        if self.frozen:
            model.encoder.requires_grad_(False)
        level = {"mix": None, "embeddings": 0, "first": 1, "top": model.encoder.num_layers}[self.levels]
        units = self.lstm_size or model.encoder.hidden_size
        return LayerReader(model.encoder, level, units, self.lstm_layers, self.dropout, keyed.key(*key, "recurrent"))

    def lr_multipliers(self, model: nn.Module) -> dict[nn.Parameter, float]:
        """`encoder_lr` in the pre-trained model."""
        from bertlab.model.elmo import LayerReader

        inner = next(module.encoder for module in model.modules() if isinstance(module, LayerReader))
        return dict.fromkeys(inner.parameters(), self.encoder_lr)

    def flops(
        self, model: BackboneConfig, trained: float, evaluated: float, passes: float, *, causal: bool = False
    ) -> float:
        """One forward pass of a frozen model per token, three of one that is trained and of the BiLSTM."""
        forward = model.flops_per_token(self.length, causal)
        above = cost.recurrent_flops(model.hidden, self.lstm_size or model.hidden, self.lstm_layers)
        encoder = forward * (1.0 if self.frozen else 3.0)
        return passes * trained * (encoder + 3.0 * above) + evaluated * (forward + above)
