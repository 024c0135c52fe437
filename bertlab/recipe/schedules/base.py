"""The protocol of a curve: one file each in this package."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from bertlab.recipe.ranges import Arm, Range


@dataclass(frozen=True, kw_only=True)
class Curve(Arm, ABC, home="bertlab.recipe.schedules", path="schedule.curve"):
    """A number over the steps, in multiples of its value: the learning rate after the warm-up, or `over_steps`."""

    plain: ClassVar[bool] = True
    _returns: ClassVar[Mapping[str, Any]] = {"share": Annotated[float, Range(0, 1000)], "peak_until": int}

    @abstractmethod
    def share(self, step: int, warm: int, steps: int) -> float:
        """The multiple at update number `step` of `steps`, from 0; the first `warm` are the warm-up of the rate."""

    def peak_until(self, warm: int, steps: int) -> int:
        """The updates before the rate falls, the warm-up among them: whatever comes later, all of them are the same."""
        return warm
