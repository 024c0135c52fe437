"""Linear decay (Devlin et al. 2019, appendix A.2)."""

from dataclasses import dataclass
from typing import ClassVar

from bertlab.recipe.schedules.base import Curve


@dataclass(frozen=True, kw_only=True)
class LinearDecay(Curve):
    """Falls linearly to 0, which the update after the last one would have."""

    kind: ClassVar[str] = "linear"

    def share(self, step: int, warm: int, steps: int) -> float:
        """(steps - step) / (steps - warm)."""
        return max(0.0, (steps - step) / max(1, steps - warm))
