"""Muon (Jordan et al. 2024), with its updates as large as Adam's (Liu et al. 2025, section 2.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from bertlab.recipe import Optimizer
from bertlab.recipe.ranges import BELOW_ONE, POSITIVE


@dataclass(frozen=True, kw_only=True)
class Muon(Optimizer):
    """Momentum whose update of each matrix is made orthogonal: all its directions are as large.

    It updates the linear maps of the encoder. Embeddings, heads, biases and normalisation have AdamW, at the same rate.
    """

    kind: ClassVar[str] = "muon"
    momentum: Annotated[float, BELOW_ONE] = 0.95
    """Decay of the running mean of the gradients of a matrix, per update; the update is Nesterov's."""
    beta1: Annotated[float, BELOW_ONE] = 0.9
    """AdamW's decay of the running mean of the gradients, per update."""
    beta2: Annotated[float, BELOW_ONE] = 0.999
    """AdamW's decay of the running mean of their squares, per update."""
    epsilon: Annotated[float, POSITIVE] = 1e-6
    """Added to the root of AdamW's mean of squares."""

    def build(self, groups: Sequence[dict[str, Any]]) -> Any:
        """Orthogonal updates for the matrices that are `hidden`, those of AdamW for all others."""
        from bertlab.optimizers.updates import muon

        chosen = []
        for group in groups:
            counts = [count * hidden for count, hidden in zip(group["matrices"], group["hidden"], strict=True)]
            chosen.append(group | {"matrices": counts})
        return muon.Muon(chosen, self.momentum, self.beta1, self.beta2, self.epsilon)
