"""Constant multiples, one after another: step decay of a rate, stages of lengths or batch sizes."""

import bisect
from dataclasses import dataclass
from typing import Annotated, ClassVar

from bertlab.recipe.ranges import FieldError, Range
from bertlab.recipe.schedules.base import Curve


@dataclass(frozen=True, kw_only=True)
class Stages(Curve):
    """One multiple after another."""

    kind: ClassVar[str] = "stages"
    multiples: Annotated[tuple[float, ...], Range(0, 1000)] = (1.0, 0.1)
    """The multiple of each stage."""
    begins: Annotated[tuple[float, ...], Range(0, 1)] = (0.5,)
    """The shares of the steps, without the warm-up, at which each stage after the first begins, rising."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.begins) != len(self.multiples) - 1 or [*self.begins] != sorted({*self.begins}):
            problem = f"is {self.begins} for {len(self.multiples)} multiples: give rising shares, one less than those"
            raise FieldError(self._group, "begins", problem)

    def share(self, step: int, warm: int, steps: int) -> float:
        """The multiple of the stage that has the update."""
        return self.multiples[bisect.bisect(self.begins, (step - warm) / max(1, steps - warm))]
