"""How long the steps of a block take, in a training that is somebody else's loop."""

from __future__ import annotations

import time
from collections.abc import Callable


def nothing() -> None:
    """Nothing has to be waited for."""


class Clock:
    """Counts steps and says when a block is over. The first step does not count: it is slower."""

    def __init__(self, seconds: float, fewest: int, wait: Callable[[], None] = nothing) -> None:
        """A block of at least these `seconds` and steps; `wait` returns when the device has done all its work."""
        self.seconds, self.fewest, self.wait = seconds, fewest, wait
        self.steps, self.began, self.elapsed = -1, 0.0, 0.0

    def over(self) -> bool:
        """A step has ended: whether it was the last one."""
        self.steps += 1
        if self.steps == 0:
            self.wait()
            self.began = time.perf_counter()
        if self.steps < self.fewest or time.perf_counter() - self.began < self.seconds:
            return False
        self.wait()
        self.elapsed = time.perf_counter() - self.began
        return True

    @property
    def rate(self) -> float:
        """Steps a second."""
        return self.steps / self.elapsed
