"""AdamW as BERT uses it (appendix A.2): its parameter groups, and the clipping before an update."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from bertlab import recipe

_MANY_STEPS = 2.0**24
"""The whole number that fp32 adds no 1 to."""


def parameter_groups(
    module: nn.Module, weight_decay: float, lr_multipliers: Mapping[nn.Parameter, float]
) -> list[dict[str, Any]]:
    """The trainable parameters in two groups: matrices with weight decay; biases and LayerNorm without.

    Two groups for each learning rate: `lr_multipliers` has those of parameters that are not trained at the common one.
    """
    trained = [value for value in module.parameters() if value.requires_grad]
    multipliers = [lr_multipliers.get(value, 1.0) for value in trained]
    groups = []
    for multiplier in dict.fromkeys(multipliers):
        values = [value for value, each in zip(trained, multipliers, strict=True) if each == multiplier]
        decayed, plain = [each for each in values if each.dim() >= 2], [each for each in values if each.dim() < 2]
        groups.append({"params": decayed, "weight_decay": weight_decay, "lr": multiplier})
        groups.append({"params": plain, "weight_decay": 0.0, "lr": multiplier})
    return [group for group in groups if group["params"]]


def build(
    module: nn.Module, settings: recipe.Optimizer, lr_multipliers: Mapping[nn.Parameter, float] | None = None
) -> torch.optim.Optimizer:
    """The optimiser of a module. The `lr` of a group is its multiple of the common one: a `LambdaLR` multiplies it."""
    groups = parameter_groups(module, settings.weight_decay, lr_multipliers or {})
    kind = torch.optim.AdamW if settings.bias_correction else UncorrectedAdamW
    return kind(groups, betas=(settings.beta1, settings.beta2), eps=settings.epsilon, fused=True)


def clip(optimizer: torch.optim.Optimizer, max_norm: float, loss: Tensor) -> Tensor:
    """Clips the gradients to the global norm `max_norm` and returns the norm before, a scalar; waits for no device.

    From the first step on whose `loss` or norm is not finite, updates change nothing.
    """
    parameters = [value for group in optimizer.param_groups for value in group["params"]]
    norm = nn.utils.clip_grad_norm_(parameters, max_norm, foreach=True)
    broken = (~torch.isfinite(norm + loss)).float()
    fused: Any = optimizer
    before = getattr(fused, "found_inf", None)  # torch's own name for what makes a fused optimiser hold still
    fused.found_inf = broken if before is None else torch.maximum(before, broken)
    return norm


class UncorrectedAdamW(torch.optim.AdamW):
    """Adam with decoupled weight decay and without bias correction, as in Google's released BERT.

    Its steps count from 2**24, where both corrections are 1 to the last bit.
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
