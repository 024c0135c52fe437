"""Gradual unfreezing (Howard and Ruder 2018, section 3.3): trains more of the encoder as the training goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from bertlab.adaptation.finetuning import FineTuning, levels_of
from bertlab.recipe.ranges import FieldError, Range

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, kw_only=True)
class GradualUnfreezing(FineTuning):
    """Trains the head and the last layer in the first epoch, and with each further epoch one more layer from the top,
    the embeddings last. With fewer epochs than that, the lowest layers keep their weights. An epoch is one of `epochs`
    equal parts of the training, less than a pass over the examples where `max_steps` ends it before."""

    kind = "gradual-unfreezing"
    description = "all weights fine-tuned, from the top one layer after another"

    stages: Annotated[int, Range(0, 10_000)] = 0
    """Equal parts of the training, which unfreeze all layers evenly, the embeddings with the lowest one; 0 for one
    layer an epoch. T5 has 12 (Raffel et al. 2020, section 3.5.1)."""
    embeddings: bool = False
    """Whether the embeddings are trained from the beginning, as in T5, where they are the output matrix too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.frozen:
            raise FieldError(self._group, "frozen", "is true, and every layer is unfrozen in its turn: leave it out")

    def on_step(self, model: nn.Module, step: int, steps: int) -> None:
        """Freezes the levels whose turn has not come; parameters that layers share go with the highest one. A layer of
        an encoder and one of a decoder are one level."""
        levels = levels_of(model)
        frozen = len(levels) - self.unfrozen(step, steps, len(levels))
        for index, level in enumerate(levels):
            level.requires_grad_(index >= frozen or (self.embeddings and index == 0))

    def unfrozen(self, step: int, steps: int, levels: int) -> int:
        """How many of the `levels` (the embeddings, and each layer) update number `step` of `steps` trains."""
        if not self.stages:
            return min(levels, int(self.epochs * step / steps) + 1)
        layers = levels - 1
        above = -(-layers * (self.stages * step // steps + 1) // self.stages)
        return levels if above == layers else above
