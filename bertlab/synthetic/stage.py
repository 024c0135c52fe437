"""The people of a task's example, and the words that it can use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bertlab.synthetic.draw import Draw, T
from bertlab.synthetic.lexicon import lexicon
from bertlab.synthetic.world import Being, kinds, named

TRUE, OPEN, FALSE = 0, 1, 2
"""The status that a word gives to a claim; indices of `Lexicon.claims`."""

LEAN = 0.75
"""The fraction of the training examples whose supposition is the first of the two. In evaluation both are equally
frequent, so half of a pair carries no information. In training it carries some, and a model that has learnt to use one
half goes on to both; without it, small models stay at chance for a thousand updates."""


@dataclass(frozen=True)
class Stage:
    """Two people with names from `pool`, a deed of one of them, and the generator `draw` of everything else."""

    draw: Draw
    pool: Sequence[str]
    rare: bool
    one: Being
    two: Being
    deed: str

    @classmethod
    def of(cls, draw: Draw, pool: Sequence[str], *, rare: bool) -> Stage:
        """Samples people and deed. Two in three words of each list are `rare`: no training example has them."""
        one, two = named(draw, "person", pool), named(draw, "person", pool)
        return cls(draw, pool, rare, one, two, draw.one(one.category.deeds))

    def either(self, lean: float = LEAN) -> int:
        """0 or 1 with equal probability; in training 0 with probability `lean`."""
        return int(self.draw.uniform() >= (0.5 if self.rare else lean))

    def item(self, items: Sequence[T]) -> T:
        """One of three or more `items` with equal probability; in training the first in more than half of the draws."""
        return items[0] if not self.rare and self.draw.chance(0.5) else self.draw.one(items)

    def word(self, words: Sequence[str]) -> str:
        """One of the `words`, a rare one only if `rare`."""
        return self.draw.one(words if self.rare else words[::3])

    def apart(self, words: Sequence[str]) -> str:
        """One of the `words`: the first of every three in evaluation, one of the other two in training."""
        return self.draw.one([word for number, word in enumerate(words) if (number % 3 == 0) == self.rare])

    def kind(self, on: str) -> str:
        """A noun of the table `on`, as `sparrow` of `animal`."""
        return self.word(self.draw.one(kinds(on)).kinds)

    def adjective(self, on: str, pole: int) -> str:
        """An adjective for a good (0) or a bad (1) member of the table `on`, rare or not."""
        return self.draw.one(self.draw.one([scale for scale in lexicon().scales[on] if scale.value]).poles[pole])

    def saying(self, status: int) -> str:
        """A verb before `that` which makes the claim true, open or false."""
        return self.word(lexicon().claims[status].verbs)
