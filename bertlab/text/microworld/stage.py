"""Who a row of a task is about, and which of the world's words it may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bertlab.text.microworld.draw import Draw
from bertlab.text.microworld.world import Being, named


@dataclass(frozen=True)
class Stage:
    """Three people and two places, with names out of `pool`, and the `draw` that the rest of the row comes from."""

    draw: Draw
    pool: Sequence[str]
    rare: bool
    one: Being
    two: Being
    three: Being
    here: Being
    there: Being

    @classmethod
    def of(cls, draw: Draw, pool: Sequence[str], *, rare: bool) -> Stage:
        """Draws who is there. Of each list of words two in three are `rare`: no training row has them."""
        one, two, three = (named(draw, "person", pool) for _ in range(3))
        return cls(draw, pool, rare, one, two, three, named(draw, "place", pool), named(draw, "place", pool))

    def words(self, words: Sequence[str]) -> Sequence[str]:
        """The `words`; without the rare ones if there are to be none."""
        return words if self.rare else words[::3]

    def word(self, words: Sequence[str]) -> str:
        """One of the `words`; none of the rare ones if there are to be none."""
        return self.draw.one(self.words(words))
