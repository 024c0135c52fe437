"""What one process of a group does of the work that all of them do together.

The global batch of a step is the same on every process, and each process takes its sequences of it. Sums over the
processes are taken on the CPU, in float64, so that nothing waits for an accelerator.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProcessGroup:
    """The place of a process in its group; the default is a process without others."""

    rank: int = 0
    """From 0; the first process writes the files."""
    world_size: int = 1

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def micro_batches(self, sequences: int, count: int = 1) -> list[tuple[int, int, int]]:
        """(number, begin, end) of each of the `count` micro-batches that this process takes of so many `sequences`.

        They are numbered from 0 over all processes, contiguous, and hold equally many sequences, give or take one: some
        hold none if there are too few.
        """
        parts = self.world_size * count
        numbers = range(self.rank * count, (self.rank + 1) * count)
        return [(number, sequences * number // parts, sequences * (number + 1) // parts) for number in numbers]

    def total(self, *values: float) -> list[float]:
        """The sum of each value over the processes, the same on all of them. All must call it, with as many values."""
        if self.world_size == 1 or not values:
            return list(values)
        import torch
        from torch import distributed

        sums = torch.tensor(values, dtype=torch.float64)
        distributed.all_reduce(sums)
        return sums.tolist()


SINGLE = ProcessGroup()
"""The group of one process."""
