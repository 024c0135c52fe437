"""Half a period of a cosine (Loshchilov and Hutter 2017, equation 5, without restarts)."""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from bertlab.recipe.ranges import SHARE
from bertlab.recipe.schedules.base import Curve


@dataclass(frozen=True, kw_only=True)
class Cosine(Curve):
    """Falls as a cosine from the peak to `floor`."""

    kind: ClassVar[str] = "cosine"
    floor: Annotated[float, SHARE] = 0.0
    """The share of the peak at the end; 0.1 in GPT-3 (Brown et al. 2020, appendix B)."""

    def share(self, step: int, warm: int, steps: int) -> float:
        """floor + (1 - floor) (1 + cos(pi (step - warm) / (steps - warm))) / 2."""
        angle = math.pi * min(1.0, (step - warm) / max(1, steps - warm))
        return self.floor + (1 - self.floor) * (1 + math.cos(angle)) / 2
