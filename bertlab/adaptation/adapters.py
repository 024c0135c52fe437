"""Adapter tuning (Houlsby et al. 2019, section 2.1): trains small new layers inside a frozen encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from bertlab import keyed
from bertlab.adaptation.base import Adaptation
from bertlab.recipe.backbones.base import BackboneConfig
from bertlab.recipe.ranges import Range
from bertlab.recipe.recipe import Rate

if TYPE_CHECKING:
    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import PretrainingModel


@dataclass(frozen=True, kw_only=True)
class Adapters(Adaptation):
    """Trains bottleneck adapters in each layer, also of a decoder, the normalisations, the head of the task and a
    missing pooler; a pre-trained pooler is frozen, as in the released code."""

    kind = "adapters"
    description = "adapters trained in a frozen encoder"
    stage = "training adapters"
    searched = True
    rate_factor = 10.0
    """The example of the released code has 6 times the rate of BERT's appendix A.3 (3e-4 and 5e-5); at scale tiny, 6,
    12 and 24 times give an F1 of 40, 58 and 56 on held-back examples of SQuAD's counterpart."""

    peak_lr: Rate = 3e-4
    """Learning rate at the end of the warm-up; a scale sets it to ten times its rate of fine-tuning."""
    bottleneck: Annotated[int, Range(1, 65_536, "units")] = 64
    """Units of an adapter's hidden layer."""
    base_width: Annotated[int, Range(0, 65_536)] = 0
    """The encoder width that `bottleneck` refers to: the units of other encoders are proportional to their width, at
    least one. 0 for `bottleneck` units at any width."""
    after: Literal["both", "feed-forward"] = "both"
    """The sub-layers with an adapter behind them: self-attention and the feed-forward network, or the latter alone, as
    in T5 (Raffel et al. 2020, section 3.5.1)."""
    activation: Literal["gelu", "relu"] = "gelu"
    """The activation of an adapter; T5 has ReLU."""

    @property
    def trained_share(self) -> float:
        """The adapters beside BERT base, and a hundredth."""
        return 0.01 + 12 * self._count * 2 * 768 * self.bottleneck / 109e6

    @property
    def _count(self) -> int:
        """Adapters of a layer."""
        return 2 if self.after == "both" else 1

    def units(self, hidden: int) -> int:
        """Units of each bottleneck in an encoder of this width."""
        return max(1, round(self.bottleneck * hidden / self.base_width)) if self.base_width else self.bottleneck

    def encoder(self, model: PretrainingModel, key: Sequence[int | str]) -> Backbone:
        """The encoder with adapters; trains these and the normalisations."""
        from bertlab.model.adapter import add_adapters

        model.requires_grad_(False)
        for norm in model.encoder.norms:
            norm.requires_grad_(True)
        units, seed = self.units(model.encoder.hidden_size), keyed.key(*key, "adapters")
        add_adapters(model.encoder, units, seed, self.after, self.activation)
        return model.encoder

    def flops(
        self, model: BackboneConfig, trained: float, evaluated: float, passes: float, *, causal: bool = False
    ) -> float:
        """Two forward passes of the encoder per token (frozen weights need no gradient), three of the adapters."""
        encoder = model.flops_per_token(self.length, causal)
        adapters = 2.0 * model.layers * self._count * 2 * model.hidden * self.units(model.hidden)
        return passes * trained * (2.0 * encoder + 3.0 * adapters) + evaluated * (encoder + adapters)
