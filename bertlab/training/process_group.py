"""The share of one process in the work of its group.

The global batch of a step is the same on every process, and each process takes its own sequences from it. Sums over the
processes are computed on the CPU, in float64, so that nothing waits for an accelerator; of tensors, on their device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class ProcessGroup:
    """The place of a process in its group; the default is a process without others."""

    rank: int = 0
    world_size: int = 1

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes the files."""
        return self.rank == 0

    def micro_batches(self, sequences: int, count: int = 1) -> list[tuple[int, int, int]]:
        """(number, begin, end) of each of the `count` micro-batches of this process, from a batch of `sequences`.

        They are numbered from 0 over all processes, contiguous, and their sizes differ by at most one; with too few
        sequences some are empty.
        """
        parts = self.world_size * count
        numbers = range(self.rank * count, (self.rank + 1) * count)
        return [(number, sequences * number // parts, sequences * (number + 1) // parts) for number in numbers]

    def total(self, *values: float) -> list[float]:
        """The sum of each value over the processes, the same on all. All must call it, with equally many values."""
        if self.world_size == 1 or not values:
            return list(values)
        import torch.distributed

        sums = torch.tensor(values, dtype=torch.float64)
        torch.distributed.all_reduce(sums)
        return sums.tolist()

    def summed(self, values: Tensor) -> Tensor:
        """The sum of `values` over the processes, in place on their own device. All must call it, with equal shapes."""
        if self.world_size > 1:
            import torch.distributed

            torch.distributed.all_reduce(values)
        return values


SINGLE = ProcessGroup()
