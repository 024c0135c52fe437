"""LAMB (You et al. 2020, Algorithm 2), the optimiser of ALBERT."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from bertlab.recipe import Optimizer
from bertlab.recipe.ranges import BELOW_ONE, POSITIVE


@dataclass(frozen=True, kw_only=True)
class LAMB(Optimizer):
    """Adam with decoupled weight decay whose update of each matrix is scaled to the norm of the matrix.

    As in ALBERT's released code, biases and LayerNorm are not scaled.
    """

    kind: ClassVar[str] = "lamb"
    beta1: Annotated[float, BELOW_ONE] = 0.9
    """Decay of the running mean of the gradients, per update."""
    beta2: Annotated[float, BELOW_ONE] = 0.999
    """Decay of the running mean of their squares, per update."""
    epsilon: Annotated[float, POSITIVE] = 1e-6
    """Added to the root of the mean of squares; 1e-6 in the released code of ALBERT."""
    bias_correction: bool = True
    """The bias correction of Algorithm 2; Google's released optimiser has none."""

    def build(self, groups: Sequence[dict[str, Any]]) -> Any:
        """The update of Algorithm 2."""
        from bertlab.optimizers.updates import lamb

        return lamb.LAMB(groups, self.beta1, self.beta2, self.epsilon, self.bias_correction)
