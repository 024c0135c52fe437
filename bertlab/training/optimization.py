"""AdamW as BERT uses it (appendix A.2), and one update of it: clip, set the rate, step."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from bertlab import recipe
from bertlab.errors import RunFailed


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
    kind: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW if settings.bias_correction else UncorrectedAdamW
    options = {"fused": True} if settings.bias_correction else {}
    return kind(groups, lr=0.0, betas=(settings.beta1, settings.beta2), eps=settings.epsilon, **options)


def update(optimizer: torch.optim.Optimizer, rate: float, clip: float, step: int, loss: float) -> None:
    """One update at learning rate `rate`, or each group's share of it; gradients are clipped to the global norm `clip`
    and freed.

    Raises `RunFailed` with status `diverged`, before anything is changed, if the `loss` or the gradient's norm is not
    finite.
    """
    parameters = [value for group in optimizer.param_groups for value in group["params"]]
    norm = float(nn.utils.clip_grad_norm_(parameters, clip, foreach=True))
    for what, figure in (("loss", loss), ("gradient", norm)):
        if not math.isfinite(figure):
            raise RunFailed(f"diverged at step {step}: the {what} is not finite", status="diverged")
    for group in optimizer.param_groups:
        group["lr"] = rate * group["share"]
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


class UncorrectedAdamW(torch.optim.Optimizer):
    """Adam with decoupled weight decay and without bias correction, as in Google's released BERT."""

    def __init__(
        self, params: Iterable[Any], lr: float = 0.0, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-6
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One update of every parameter that has a gradient."""
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            values: list[Tensor] = [value for value in group["params"] if value.grad is not None]
            gradients: list[Tensor] = [value.grad for value in values if value.grad is not None]
            if not values:
                continue
            for value in values:
                if not self.state[value]:
                    self.state[value] = {"exp_avg": torch.zeros_like(value), "exp_avg_sq": torch.zeros_like(value)}
            first = [self.state[value]["exp_avg"] for value in values]
            second = [self.state[value]["exp_avg_sq"] for value in values]
            beta1, beta2 = group["betas"]
            torch._foreach_lerp_(first, gradients, 1 - beta1)
            torch._foreach_mul_(second, beta2)
            torch._foreach_addcmul_(second, gradients, gradients, 1 - beta2)
            scale = torch._foreach_sqrt(second)
            torch._foreach_add_(scale, group["eps"])
            torch._foreach_mul_(values, 1 - group["lr"] * group["weight_decay"])
            torch._foreach_addcdiv_(values, first, scale, -group["lr"])
        return loss
