"""BitFit (Ben Zaken et al. 2022): trains the biases of the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertlab.adaptation.base import Adaptation
from bertlab.errors import BadInput

if TYPE_CHECKING:
    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import PretrainingModel


@dataclass(frozen=True, kw_only=True)
class BitFit(Adaptation):
    """Trains all biases of the encoder and of a pre-trained pooler, the head of the task, and a missing pooler."""

    kind = "bitfit"
    description = "biases trained in a frozen encoder"
    stage = "training biases"
    searched = True
    trained_share = 0.01
    train_cost = 2.0
    rate_factor = 10.0
    """The paper searches rates from 1e-4 to 1e-3 (section 4), and 1e-5 to 5e-5 for all weights."""

    def encoder(self, model: PretrainingModel, key: Sequence[int | str]) -> Backbone:
        """The encoder, of which the biases are trained. Raises `BadInput` if it has none."""
        named = model.named_parameters()
        biases = {name: value for name, value in named if name.split(".")[-1].startswith("bias")}  # LSTMs: bias_hh_l0
        if not any(name.startswith("encoder.") for name in biases):
            raise BadInput("the adaptation bitfit trains biases and this encoder has none: use another one")
        model.requires_grad_(False)
        for value in biases.values():
            value.requires_grad_(True)
        return model.encoder
