"""Adafactor (Shazeer and Stern 2018, Algorithms 4 and 5), the optimiser of T5."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from bertlab.recipe import Optimizer
from bertlab.recipe.ranges import POSITIVE, Range


@dataclass(frozen=True, kw_only=True)
class Adafactor(Optimizer):
    """Adam without momentum that keeps second moments of a matrix as one row and one column.

    The learning rate is relative to the root mean square of each parameter, and at most 1 / sqrt(step): 0.01 is usual.
    """

    kind: ClassVar[str] = "adafactor"
    decay: Annotated[float, Range(0, 1, above=True)] = 0.8
    """The second moments decay by 1 - step**-decay (section 7.2)."""
    min_scale: Annotated[float, POSITIVE] = 1e-3
    """The root mean square that a parameter counts with at least (section 8)."""

    def build(self, groups: Sequence[dict[str, Any]]) -> Any:
        """The one of torch, whose updates have a root mean square of 1 at most before the learning rate (section 6)."""
        from bertlab.optimizers.updates import adafactor

        # torch squares the first; by default it is larger than the squared gradients of a large model
        return adafactor.Adafactor(groups, beta2_decay=-self.decay, eps=(1e-16, self.min_scale))
