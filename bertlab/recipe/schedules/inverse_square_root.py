"""The inverse square root of the update number (Vaswani et al. 2017, equation 3; Raffel et al. 2020, section 3.1.2)."""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from bertlab.recipe.ranges import SHARE
from bertlab.recipe.schedules.base import Curve


@dataclass(frozen=True, kw_only=True)
class InverseSquareRoot(Curve):
    """Stays at the peak up to update k and then is sqrt(k / n) of it at update n, counted from 1.

    The Transformer of 2017 has a warm-up of k updates. T5 has none, and k = 10,000 of 2^19 updates: `flat=0.019`.
    """

    kind: ClassVar[str] = "inverse-square-root"
    flat: Annotated[float, SHARE] = 0.0
    """The share of all updates that are the first k, the warm-up among them; k is at least the warm-up's."""

    def share(self, step: int, warm: int, steps: int) -> float:
        """sqrt(k / max(n, k))."""
        peak = self.peak_until(warm, steps)
        return math.sqrt(peak / max(step + 1, peak))

    def peak_until(self, warm: int, steps: int) -> int:
        """k."""
        return max(1, warm, round(self.flat * steps))
