"""How far fine-tuning moves each layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from bertlab.diagnostics.base import Diagnostic, TrainedModel

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, kw_only=True)
class LayerMovement(Diagnostic):
    """The distance of the weights of each layer from where training began, as a share of their norm there.

    `lower_movement` and `upper_movement` are means over the lower and the upper half of the layers; the layer between
    them is in neither. `embeddings_movement` and `layer_N_movement` are those of each level, from 1.
    """

    kind = "layer-movement"
    metrics = ("embeddings_movement", "lower_movement", "upper_movement")

    def measure(self, trained: TrainedModel) -> Mapping[str, float]:
        """The shares, from 0; none without an encoder."""
        moved = [movement(before, after) for before, after in trained.levels]
        if not moved:
            return {}
        embeddings, *layers = moved
        half = max(1, len(layers) // 2)
        return {
            "embeddings_movement": embeddings,
            "lower_movement": fmean(layers[:half]),
            "upper_movement": fmean(layers[-half:]),
            **{f"layer_{number}_movement": share for number, share in enumerate(layers, 1)},
        }


def movement(before: nn.Module, after: nn.Module) -> float:
    """The Euclidean distance between the parameters of two modules as a share of the norm of the first."""
    import torch

    pairs = [
        (old.detach().double().cpu(), new.detach().double().cpu())
        for old, new in zip(before.parameters(), after.parameters(), strict=True)
    ]
    distance = torch.stack([(new - old).square().sum() for old, new in pairs]).sum().sqrt()
    return float(distance / torch.stack([old.square().sum() for old, _ in pairs]).sum().sqrt())
