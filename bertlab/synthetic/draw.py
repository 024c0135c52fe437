"""Seeded random draws: the same bits on every machine, in every process and under every hash seed."""

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

VERSION = 1
"""Raised when any document changes; part of the ids of runs on the corpus. See also `synthetic.version`."""


class Draw:
    """A generator of its own, seeded by the SHA-256 of `parts`.

    It uses only `random.Random.random`, whose stream Python keeps the same in all versions, unlike those of `choice`
    and `shuffle`.
    """

    __slots__ = ("uniform",)

    def __init__(self, *parts: int | str) -> None:
        digest = hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).digest()
        self.uniform = random.Random(int.from_bytes(digest[:8], "big")).random

    def below(self, bound: int) -> int:
        """An integer from 0 to `bound` - 1."""
        return int(self.uniform() * bound)

    def chance(self, share: float) -> bool:
        """True with probability `share`."""
        return self.uniform() < share

    def one(self, items: Sequence[T]) -> T:
        """One of `items`."""
        return items[int(self.uniform() * len(items))]

    def other(self, items: Sequence[T], than: T) -> T:
        """One of `items` that differs from `than`."""
        item = self.one(items)
        while item == than:
            item = self.one(items)
        return item

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different `items`, in random order."""
        pool = list(items)
        for index in range(count):
            chosen = index + self.below(len(pool) - index)
            pool[index], pool[chosen] = pool[chosen], pool[index]
        return pool[:count]
