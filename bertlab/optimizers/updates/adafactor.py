"""Adafactor in torch (Shazeer and Stern 2018), as torch has it."""

from collections.abc import Callable
from typing import Any

import torch


class Adafactor(torch.optim.Adafactor):
    """Changes no parameter while `found_inf` is 1, as torch's fused optimisers do.

    It waits for the device at each step: torch reads the norms of parameters and updates.
    """

    found_inf: torch.Tensor | None = None

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update; `closure` computes the gradients and returns the loss."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        infinities, self.found_inf = self.found_inf, None  # torch refuses it
        if infinities is None or not infinities:
            super().step()  # type: ignore[no-untyped-call]
        self.found_inf = infinities
        return loss
