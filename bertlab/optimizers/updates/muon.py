"""Muon in torch (Jordan et al. 2024): torch's own takes no stacked matrices, no vectors, and no `found_inf`."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from bertlab.optimizers.updates.lamb import LAMB

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of x, x^3 and x^5 in the iteration, whose slope at 0 is then as large as possible."""
ITERATIONS = 5
RMS = 0.2
"""The root mean square of an update at a learning rate of 1, which is about Adam's (Liu et al. 2025)."""


class Muon(LAMB):
    """Orthogonal updates of all that counts as matrices, and those of AdamW, which is LAMB of vectors, of the rest."""

    def __init__(
        self, groups: Iterable[dict[str, Any]], momentum: float, beta1: float, beta2: float, epsilon: float
    ) -> None:
        """Groups as those of `bertlab.recipe.Optimizer.build`."""
        super().__init__(groups, beta1, beta2, epsilon, bias_correction=True)
        self.momentum = momentum

    def _direction(self, x: Tensor, weight_decay: float, matrices: int) -> Tensor:
        """The update of a parameter at a learning rate of 1."""
        if not matrices:
            return super()._direction(x, weight_decay, 0)
        state = self.state[x]
        gradient: Any = x.grad
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(x)
        mean = state["momentum"].lerp_(gradient, 1 - self.momentum)
        ahead = gradient.lerp(mean, self.momentum).view(matrices, -1, x.shape[1])
        direction = (orthogonal(ahead) * RMS * math.sqrt(max(ahead.shape[1:]))).view_as(x)
        return direction.add_(x, alpha=weight_decay)


def orthogonal(matrices: Tensor) -> Tensor:
    """Matrices (M, R, C) with the same singular vectors and singular values near 1, by a Newton-Schulz iteration."""
    first, third, fifth = COEFFICIENTS
    wide: Tensor = matrices.bfloat16() if matrices.is_cuda else matrices
    if tall := matrices.shape[1] > matrices.shape[2]:
        wide = wide.mT
    wide = wide / torch.linalg.matrix_norm(wide, keepdim=True).clamp(min=1e-7)
    for _ in range(ITERATIONS):
        square = wide @ wide.mT
        wide = first * wide + (third * square + fifth * square @ square) @ wide
    return (wide.mT if tall else wide).to(matrices.dtype)
