"""AdamW as in BERT (Devlin et al. 2019, appendix A.2; Loshchilov and Hutter 2019)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from bertlab.recipe import Optimizer
from bertlab.recipe.ranges import BELOW_ONE, POSITIVE


@dataclass(frozen=True, kw_only=True)
class AdamW(Optimizer):
    """Adam with decoupled weight decay."""

    kind: ClassVar[str] = "adamw"
    elementwise: ClassVar[bool] = True
    beta1: Annotated[float, BELOW_ONE] = 0.9
    """Decay of the running mean of the gradients, per update."""
    beta2: Annotated[float, BELOW_ONE] = 0.999
    """Decay of the running mean of their squares, per update; 0.98 in RoBERTa (section 3.1)."""
    epsilon: Annotated[float, POSITIVE] = 1e-6
    """Added to the root of the mean of squares; 1e-6 in BERT's released code."""
    bias_correction: bool = True
    """Google's released optimiser has none."""

    def build(self, groups: Sequence[dict[str, Any]]) -> Any:
        """The fused one of torch.

        Without bias correction its steps count from 2**24, which fp32 adds no 1 to: there both corrections are 1 to the
        last bit.
        """
        import torch

        optimizer = torch.optim.AdamW(groups, betas=(self.beta1, self.beta2), eps=self.epsilon, fused=True)
        groups_without = () if self.bias_correction else optimizer.param_groups
        for value in (parameter for group in groups_without for parameter in group["params"]):
            optimizer.state[value] = {
                "step": torch.tensor(2.0**24, device=value.device),
                "exp_avg": torch.zeros_like(value),
                "exp_avg_sq": torch.zeros_like(value),
            }
        return optimizer
