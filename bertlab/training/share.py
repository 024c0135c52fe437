"""What one process of a group does of the work that all of them do together.

The global batch of a step is the same on every process, and each takes its rows of it. What they find is summed on the
CPU, in float64, so that no accelerator is waited for.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Share:
    """The place of a process among `ranks` of them; by default it is alone."""

    rank: int = 0
    """From 0; the first one writes the files."""
    ranks: int = 1

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def micro_batches(self, rows: int, size: int = 0) -> list[tuple[int, int, int]]:
        """(number, first row, row behind the last) of each micro-batch that this process takes of a batch of `rows`.

        The rows of a process are contiguous and, give or take one, as many as another's: none, if there are too few.
        `size` rows go together, 0 for all of a process. Numbers go on over the processes, from 0.
        """
        begins = [rows * rank // self.ranks for rank in range(self.ranks + 1)]
        pieces = [
            (rank, low, min(low + (size or rows), end))
            for rank, (begin, end) in enumerate(pairwise(begins))
            for low in range(begin, end, size or rows)
        ]
        return [(number, low, high) for number, (rank, low, high) in enumerate(pieces) if rank == self.rank]

    def total(self, *values: float) -> list[float]:
        """The sum of each value over the processes, the same on all of them. All must call it, with as many values."""
        if self.ranks == 1 or not values:
            return list(values)
        import torch
        from torch import distributed

        sums = torch.tensor(values, dtype=torch.float64)
        distributed.all_reduce(sums)
        return sums.tolist()

    def wait(self) -> None:
        """Returns once every process has come here."""
        self.total(0.0)


ALONE = Share()
"""The one process of a training that has no others."""
