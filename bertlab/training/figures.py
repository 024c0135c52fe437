"""The figures of steps, left where they were computed until they are asked for, so that no step waits for a device."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bertlab.errors import RunFailed

TOGETHER = 50
"""Steps of an accelerator that are read at once; on the CPU, where nothing waits, each is read as it is made."""


class Figures:
    """Scalars of the steps since they were last read: losses, gradient norms."""

    def __init__(self) -> None:
        self._rows: list[Tensor] = []

    def add(self, *values: Tensor) -> None:
        """Those of one more step, all of one device."""
        self._rows.append(torch.stack([value.detach().double() for value in values]))

    @property
    def due(self) -> bool:
        """Whether it is time to read them."""
        return bool(self._rows) and (self._rows[0].device.type == "cpu" or len(self._rows) >= TOGETHER)

    def read(self) -> list[list[float]]:
        """Those of each step since the last time, in one transfer."""
        rows, self._rows = self._rows, []
        return torch.stack(rows).tolist() if rows else []


def check(step: int, loss: float, norm: float) -> None:
    """Raises `RunFailed` with status `diverged` if the loss of a step, or its gradient's norm, is not finite."""
    for what, figure in (("loss", loss), ("gradient", norm)):
        if not math.isfinite(figure):
            raise RunFailed(f"diverged at step {step}: the {what} is not finite", status="diverged")
