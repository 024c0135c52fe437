"""AdamW as BERT uses it (appendix A.2), and one update of it: clip, set the rate, step."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from bertlab import recipe

_MANY_STEPS = 2.0**24
"""The whole number that fp32 adds no 1 to."""


def parameter_groups(module: nn.Module, weight_decay: float, layer_decay: float = 1.0) -> list[dict[str, Any]]:
    """The trainable parameters in two groups: matrices with weight decay; biases and LayerNorm without.

    With a `layer_decay` below 1, two groups for each level of the encoder, `share` of the learning rate falling by that
    factor from the head (1) to the last layer and on to the embeddings (Clark et al. 2020, appendix A).
    """
    named = [(name, value) for name, value in module.named_parameters() if value.requires_grad]
    levels = [_level(name) for name, _ in named] if layer_decay < 1 else [None] * len(named)
    top = max((level for level in levels if level is not None), default=-1) + 1
    groups = []
    for level in dict.fromkeys(levels):
        share = layer_decay ** (top - level) if level is not None else 1.0
        values = [value for (_, value), each in zip(named, levels, strict=True) if each == level]
        decayed, plain = [each for each in values if each.dim() >= 2], [each for each in values if each.dim() < 2]
        groups.append({"params": decayed, "weight_decay": weight_decay, "share": share})
        groups.append({"params": plain, "weight_decay": 0.0, "share": share})
    return [group for group in groups if group["params"]]


def _level(name: str) -> int | None:
    """The level of the encoder that a parameter is of: 0 for the embeddings, then its layers; None above them."""
    found = re.search(r"(?:^|\.)encoder\.(?:layers\.(\d+)|embeddings)\.", name)
    return None if found is None else int(found[1]) + 1 if found[1] else 0


def build(module: nn.Module, settings: recipe.Optimizer, layer_decay: float = 1.0) -> torch.optim.Optimizer:
    """The optimiser of a module. Its rate is set at every update by `update`."""
    groups = parameter_groups(module, settings.weight_decay, layer_decay)
    kind = torch.optim.AdamW if settings.bias_correction else UncorrectedAdamW
    return kind(groups, lr=0.0, betas=(settings.beta1, settings.beta2), eps=settings.epsilon, fused=True)


def update(optimizer: torch.optim.Optimizer, rate: float, clip: float, loss: Tensor) -> Tensor:
    """One update at learning rate `rate`, or each group's share of it; gradients are clipped to the global norm `clip`
    and freed. Returns that norm, a scalar; nothing waits for its value.

    From the first step on of which the `loss` or the norm is not finite, nothing is changed any more.
    """
    parameters = [value for group in optimizer.param_groups for value in group["params"]]
    norm = nn.utils.clip_grad_norm_(parameters, clip, foreach=True)
    broken = (~torch.isfinite(norm + loss)).float()
    fused: Any = getattr(optimizer, "optimizer", optimizer)  # Lightning's wrapper keeps what is set on it to itself
    before = getattr(fused, "found_inf", None)  # torch's own name for what makes a fused optimiser hold still
    fused.found_inf = broken if before is None else torch.maximum(before, broken)
    for group in optimizer.param_groups:
        group["lr"] = rate * group["share"]
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return norm


class UncorrectedAdamW(torch.optim.AdamW):
    """Adam with decoupled weight decay and without bias correction, as in Google's released BERT.

    It counts its steps from so many on that both corrections are 1 to the last bit.
    """

    def __init__(self, params: Iterable[Any], **options: Any) -> None:
        super().__init__(params, **options)
        for group in self.param_groups:
            for value in group["params"]:
                self.state[value] = {
                    "step": torch.tensor(_MANY_STEPS, device=value.device),
                    "exp_avg": torch.zeros_like(value),
                    "exp_avg_sq": torch.zeros_like(value),
                }
