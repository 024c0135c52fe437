"""Warm-up, stable, decay (Hu et al. 2024, section 4; Hägele et al. 2024, section 3)."""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from bertlab.recipe.ranges import SHARE
from bertlab.recipe.schedules.base import Curve


@dataclass(frozen=True, kw_only=True)
class WarmupStableDecay(Curve):
    """Stays at the peak and falls to 0 over the last updates: ModernBERT's trapezoid (Warner et al. 2024)."""

    kind: ClassVar[str] = "warmup-stable-decay"
    cooldown: Annotated[float, SHARE] = 0.1
    """The share of all updates in which the rate falls."""
    shape: Literal["linear", "1-sqrt"] = "linear"
    """How it falls: as 1 - t, or as 1 - sqrt(t), where t goes from 0 to 1."""

    def share(self, step: int, warm: int, steps: int) -> float:
        """The whole peak before the cooldown, then its shape."""
        left, cooldown = steps - step, steps - self.peak_until(warm, steps)
        if left > cooldown:
            return 1.0
        return max(0.0, left / cooldown if self.shape == "linear" else 1 - math.sqrt(1 - left / cooldown))

    def peak_until(self, warm: int, steps: int) -> int:
        """The updates before the cooldown."""
        return steps - min(max(1, round(self.cooldown * steps)), max(1, steps - warm))
