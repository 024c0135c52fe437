"""LAMB in torch (You et al. 2020, Algorithm 2)."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


class LAMB(Optimizer):
    """LAMB with the identity as its scaling function, and one trust ratio for each matrix.

    Torch has none; that of pytorch-optimizer corrects the bias of one moment only, and bounds the norms of weights.
    Waits for no device, and like torch's fused optimisers changes no parameter while `found_inf` is 1.
    """

    def __init__(
        self, groups: Iterable[dict[str, Any]], beta1: float, beta2: float, epsilon: float, bias_correction: bool
    ) -> None:
        """Groups as those of `bertlab.recipe.Optimizer.build`."""
        super().__init__(groups, {})
        self.beta1, self.beta2, self.epsilon, self.bias_correction = beta1, beta2, epsilon, bias_correction
        self.found_inf: Tensor | None = None

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update; `closure` computes the gradients and returns the loss."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for x, matrices in zip(group["params"], group["matrices"], strict=True):
                if x.grad is not None:
                    change = group["lr"] * self._direction(x, group["weight_decay"], matrices)
                    x.sub_(change if self.found_inf is None else change.where(self.found_inf == 0, 0.0))
        return loss

    def _direction(self, x: Tensor, weight_decay: float, matrices: int) -> Tensor:
        """The update of a parameter at a learning rate of 1."""
        state = self.state[x]
        if not state:
            state.update(step=0, m=torch.zeros_like(x), v=torch.zeros_like(x))
        state["step"] += 1
        m = state["m"].lerp_(x.grad, 1 - self.beta1)
        v = state["v"].mul_(self.beta2).addcmul_(x.grad, x.grad, value=1 - self.beta2)
        if self.bias_correction:
            m, v = (now / (1 - beta ** state["step"]) for now, beta in ((m, self.beta1), (v, self.beta2)))
        direction: Tensor = m / (v.sqrt() + self.epsilon)
        if weight_decay:
            direction.add_(x, alpha=weight_decay)
        if not matrices:
            return direction
        one, other = (torch.linalg.vector_norm(vector.reshape(matrices, -1), dim=1) for vector in (x, direction))
        ratios: Tensor = one / other
        ratios = ratios.where(ratios.isfinite() & (ratios > 0), 1.0)
        return (direction.view(matrices, -1) * ratios[:, None]).view_as(direction)
