"""The top layers apart: trained alone (Houlsby et al. 2019, section 3.4), or from new weights (Zhang et al. 2021)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self

from bertlab import keyed
from bertlab.adaptation.finetuning import FineTuning
from bertlab.recipe.backbones.base import BackboneConfig
from bertlab.recipe.ranges import FieldError, Range

if TYPE_CHECKING:
    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import PretrainingModel


@dataclass(frozen=True, kw_only=True)
class TopLayers(FineTuning):
    """Trains the last layers, the pooler and the head of the task, or all weights with new ones in these layers."""

    kind = "top-layers"

    layers: Annotated[int, Range(1, 200)] = 1
    """How many layers, from the top; all of them in a smaller model."""
    reinitialised: bool = False
    """Whether these layers and a pre-trained pooler start from new weights. Then all layers are trained."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.frozen:
            raise FieldError(self._group, "frozen", "is true, and the top layers are trained: leave it out")

    @property
    def description(self) -> str:
        """What is trained, and from what."""
        top = f"top {self.layers}" if self.layers > 1 else "top layer"
        return f"all weights fine-tuned, the {top} from new ones" if self.reinitialised else f"the {top} fine-tuned"

    def in_model(self, layers: int) -> Self:
        """With at most the layers that there are."""
        return dataclasses.replace(self, layers=min(layers, self.layers))

    def encoder(self, model: PretrainingModel, key: Sequence[int | str]) -> Backbone:
        """The encoder with new weights in its last layers, or with frozen ones below them. Parameters that layers share
        are those of the last one."""
        *below, _ = levels = model.encoder.levels
        top = levels[-min(self.layers, len(below)) :]
        if self.reinitialised:
            model.reinitialise(top, keyed.key(*key, "new layers"))
        else:
            model.encoder.requires_grad_(False)
            for level in top:
                level.requires_grad_(True)
        return super().encoder(model, key)

    def flops(
        self, model: BackboneConfig, trained: float, evaluated: float, passes: float, *, causal: bool = False
    ) -> float:
        """One forward pass per token through frozen layers, three through trained ones."""
        whole = super().flops(model, trained, evaluated, passes, causal=causal)
        if self.reinitialised:
            return whole
        frozen = max(0, model.layers - self.layers) / model.layers
        return whole - 2.0 * frozen * passes * trained * model.flops_per_token(self.length, causal)
