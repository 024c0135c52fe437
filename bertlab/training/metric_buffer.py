"""Metrics of training steps, kept on the device that computed them, so that no step waits for it."""

import torch
from torch import Tensor

STEPS = 50
"""Steps of an accelerator that are read at once; on the CPU, where nothing waits, each step is read as it ends."""


class MetricBuffer:
    """Scalars of the steps since the last `read`: losses, gradient norms."""

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._values: list[Tensor] = []

    def add(self, step: int, *values: Tensor) -> None:
        """Appends the scalars of one step, all on one device."""
        self._steps.append(step)
        self._values.append(torch.stack([value.detach().double() for value in values]))

    @property
    def due(self) -> bool:
        """Whether it is time to read."""
        return bool(self._steps) and (self._values[0].device.type == "cpu" or len(self._steps) >= STEPS)

    def read(self) -> list[tuple[int, list[float]]]:
        """Returns each step with its scalars, in one transfer, and empties the buffer."""
        steps, values = self._steps, self._values
        self._steps, self._values = [], []
        return list(zip(steps, torch.stack(values).tolist(), strict=True)) if steps else []
