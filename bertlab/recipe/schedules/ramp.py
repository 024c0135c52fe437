"""A straight line, for numbers that change over the steps as far as wanted and then stay."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from bertlab.recipe.ranges import SHARE, Range
from bertlab.recipe.schedules.base import Curve


@dataclass(frozen=True, kw_only=True)
class Ramp(Curve):
    """Goes linearly from one multiple to another, and stays there."""

    kind: ClassVar[str] = "ramp"
    start: Annotated[float, Range(0, 1000)] = 1.0
    """The multiple at first."""
    end: Annotated[float, Range(0, 1000)] = 0.5
    """The multiple at the end."""
    until: Annotated[float, SHARE] = 1.0
    """The share of the steps, without the warm-up, after which the end is reached."""

    def share(self, step: int, warm: int, steps: int) -> float:
        """start + (end - start) min(1, (step - warm) / (until (steps - warm)))."""
        reached = min(1.0, (step - warm) / max(1.0, self.until * (steps - warm)))
        return self.start + (self.end - self.start) * reached
