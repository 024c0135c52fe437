"""AdamW as BERT uses it (appendix A.2), and one update of it: clip, set the rate, step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from bertlab import recipe
from bertlab.errors import RunFailed


def parameter_groups(module: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """The trainable parameters in two groups: matrices with weight decay; biases and LayerNorm without."""
    named = [(name, value) for name, value in module.named_parameters() if value.requires_grad]
    decayed = [value for _, value in named if value.dim() >= 2]
    plain = [value for _, value in named if value.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def build(module: nn.Module, settings: recipe.Optimizer) -> torch.optim.Optimizer:
    """The optimiser of a module. Its rate is set at every update by `update`."""
    groups = parameter_groups(module, settings.weight_decay)
    kind: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW if settings.bias_correction else UncorrectedAdamW
    options = {"fused": True} if settings.bias_correction else {}
    return kind(groups, lr=0.0, betas=(settings.beta1, settings.beta2), eps=settings.epsilon, **options)


def update(optimizer: torch.optim.Optimizer, rate: float, clip: float, step: int) -> None:
    """One update at learning rate `rate`, gradients clipped to the global norm `clip`; gradients are freed.

    Raises `RunFailed` with status `diverged`, before anything is changed, if the gradient's norm is not finite.
    """
    parameters = [value for group in optimizer.param_groups for value in group["params"]]
    norm = float(nn.utils.clip_grad_norm_(parameters, clip, foreach=True))
    if not math.isfinite(norm):
        raise RunFailed(f"the gradient is not finite at step {step}", status="diverged")
    for group in optimizer.param_groups:
        group["lr"] = rate
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
