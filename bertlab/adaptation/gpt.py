"""Fine-tuning of a left-to-right model as GPT's (Radford et al. 2018, sections 3.2 and 3.3)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

import numpy as np

from bertlab import keyed
from bertlab.adaptation.base import EVALUATION_TOKENS, Adaptation, Inputs, narrowed, tensors
from bertlab.arrays import Integer
from bertlab.errors import BadInput
from bertlab.recipe import Loss, Recipe
from bertlab.recipe.backbones.base import BackboneConfig
from bertlab.recipe.objective import INPUTS
from bertlab.recipe.ranges import Range
from bertlab.tasks.examples import Examples, TaskBatch
from bertlab.tasks.kinds.base import TaskKind

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.machine import Machine
    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import Pooler, PretrainingModel
    from bertlab.progress import Progress


@dataclass(frozen=True, kw_only=True)
class GPT(Adaptation):
    """Trains all weights, with the loss of the next token beside that of the task.

    A sequence ends with the extract token, from whose vector a linear layer classifies. It is [MASK], which no
    left-to-right model has read before. The embeddings of it, of the start [CLS] and of the delimiter [SEP] are drawn
    anew.
    """

    kind = "gpt"
    stage = "fine-tuning"
    searched = True

    lm_weight: Annotated[float, Range(0, 1000)] = 0.5
    """Weight of the auxiliary loss, the mean over the tokens of a sequence but the first, with delimiter and extract
    token as in the released code; 0 for none."""
    both_orders: bool = False
    """Reads both orders of a pair of texts and adds their vectors, as GPT does where the order has no meaning: MRPC,
    QQP, STS-B."""

    @property
    def description(self) -> str:
        """All weights are trained, perhaps with the auxiliary loss."""
        return "all weights fine-tuned" + " with the loss of the next token" * (self.lm_weight > 0)

    def unsupported_reason(self, kind: TaskKind) -> str:
        """Both orders are read of a pair that has one label or value."""
        if self.both_orders and kind.columns != TaskKind.columns:
            return f"both_orders adds two vectors of a pair of texts, its task is {kind.name}: leave it out"
        return super().unsupported_reason(kind)

    def check(self, recipe: Recipe) -> None:
        """Raises `BadInput` for a model that is not left to right."""
        if not recipe.causal:
            raise _not_causal()

    def adapt(
        self, model: PretrainingModel, kind: TaskKind, labels: Sequence[str], key: Sequence[int | str]
    ) -> nn.Module:
        """The encoder under the head of the task, without a pooler."""
        from bertlab.model.gpt import OrderSum

        encoder, extracted = self.encoder(model, key), cast("Pooler", OrderSum(self._orders))
        return kind.head(encoder, extracted, labels, self.dropout, keyed.key(*key, "head"), self.options(kind))

    def encoder(self, model: PretrainingModel, key: Sequence[int | str]) -> Backbone:
        """The encoder with three new rows of embeddings, and with the LM head if there is an auxiliary loss. Raises
        `BadInput` for a model that is not left to right."""
        from bertlab.model.gpt import EncoderWithLM, redraw

        loss = _language_model(model)
        if loss is None:
            raise _not_causal()
        assert model.tokenizer is not None
        ids = (model.tokenizer.cls, model.tokenizer.sep, model.tokenizer.mask)
        redraw(model.encoder.output_embeddings, ids, keyed.key(*key, "specials"))
        return EncoderWithLM(model.encoder, loss, model.head(loss)) if self.lm_weight else model.encoder

    def inputs(self, model: PretrainingModel, part: Examples, machine: Machine, progress: Progress) -> Inputs:
        """The word pieces with the extract token at the end. A batch in both orders has a block of sequences of each.
        Raises `BadInput` for both orders of a single text."""
        assert model.tokenizer is not None
        mask = np.array([model.tokenizer.mask], np.int32)
        sequences = [np.append(one[:-1], mask) for one in part.sequences]
        part = narrowed(part, model, machine)
        orders = [dataclasses.replace(part, sequences=sequences)]
        if self.both_orders:
            orders.append(_turned(orders[0]))

        def build(indices: Integer) -> TaskBatch:
            first, *others = (order.batch(indices) for order in orders)
            blocks = {
                name: np.concatenate([getattr(batch, name) for batch in (first, *others)])
                for name in ("tokens", "segments", "lengths")
            }
            return tensors(dataclasses.replace(first, **blocks))

        return Inputs(part.lengths, build, EVALUATION_TOKENS // part.choices // self._orders)

    def loss(self, model: nn.Module, kind: TaskKind, batch: TaskBatch) -> Tensor:
        """The loss of the task, and `lm_weight` times the auxiliary one (equation 5)."""
        from bertlab.model.gpt import EncoderWithLM

        loss = super().loss(model, kind, batch)
        if not self.lm_weight:
            return loss
        encoder = next(module for module in model.modules() if isinstance(module, EncoderWithLM))
        return loss + self.lm_weight * encoder.lm_loss(*batch["inputs"].streams[INPUTS])

    def flops(
        self, model: BackboneConfig, trained: float, evaluated: float, passes: float, *, causal: bool = False
    ) -> float:
        """Each order takes the FLOPs of fine-tuning."""
        return self._orders * super().flops(model, trained, evaluated, passes, causal=causal)

    @property
    def _orders(self) -> int:
        return 2 if self.both_orders else 1


def _language_model(model: PretrainingModel) -> Loss | None:
    """The left-to-right language model of an objective; None if the model has none or sees both sides of a token."""
    losses = (loss for loss in model.objective if loss.causal and loss.over_vocabulary)
    return next(losses, None) if model.encoder.causal else None


def _not_causal() -> BadInput:
    advice = "pre-train with CausalLM, or use FineTuning"
    return BadInput(f"the adaptation gpt continues a left-to-right language model, and this model is none: {advice}")


def _turned(part: Examples) -> Examples:
    """The same pairs with the second text first."""
    starts, sequences = part.segment_b_start, part.sequences
    sizes = np.array([len(one) for one in sequences])
    if (starts >= sizes).any():
        raise BadInput("the adaptation gpt reads both_orders of a pair, and this task has one text: leave it out")
    turned = [
        np.concatenate([one[:1], one[start:-1], one[start - 1 : start], one[1 : start - 1], one[-1:]])
        for one, start in zip(sequences, starts, strict=True)
    ]
    return dataclasses.replace(part, sequences=turned, segment_b_start=sizes - starts + 1)
