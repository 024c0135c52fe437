"""A constant learning rate."""

from dataclasses import dataclass
from typing import ClassVar

from bertlab.recipe.schedules.base import Curve


@dataclass(frozen=True, kw_only=True)
class Constant(Curve):
    """Stays at the peak."""

    kind: ClassVar[str] = "constant"

    def share(self, step: int, warm: int, steps: int) -> float:
        """The whole peak, at every update."""
        return 1.0

    def peak_until(self, warm: int, steps: int) -> int:
        """All updates."""
        return steps
