"""Who an example of a task is about, and which of the world's words it may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bertlab.synthetic.draw import Draw, T
from bertlab.synthetic.lexicon import lexicon
from bertlab.synthetic.world import Being, kinds, named

TRUE, OPEN, FALSE = 0, 1, 2
"""What a word for saying makes of what is said; numbers of `Lexicon.claims`."""

LEAN = 0.75
"""Share of the training examples of a pair that suppose the first of what can be supposed. Evaluation examples suppose
each as often: there, half of a pair tells nothing. In training it tells something, and a model that has learnt to read
one half goes on to both; where neither half tells anything, small models stay at chance for a thousand updates."""


@dataclass(frozen=True)
class Stage:
    """Two people with names out of `pool`, what one of them did, and the `draw` that the rest comes from."""

    draw: Draw
    pool: Sequence[str]
    rare: bool
    one: Being
    two: Being
    deed: str

    @classmethod
    def of(cls, draw: Draw, pool: Sequence[str], *, rare: bool) -> Stage:
        """Draws who is there. Of each list of words two in three are `rare`: no training example has them."""
        one, two = named(draw, "person", pool), named(draw, "person", pool)
        return cls(draw, pool, rare, one, two, draw.one(one.category.deeds))

    def either(self, lean: float = LEAN) -> int:
        """0 or 1: even odds, but in training 0 in a share `lean` of the draws."""
        return int(self.draw.uniform() >= (0.5 if self.rare else lean))

    def item(self, items: Sequence[T]) -> T:
        """One of three or more `items`: even odds, but in training the first in more than half of the draws."""
        return items[0] if not self.rare and self.draw.chance(0.5) else self.draw.one(items)

    def word(self, words: Sequence[str]) -> str:
        """One of the `words`; none of the rare ones if there are to be none."""
        return self.draw.one(words if self.rare else words[::3])

    def apart(self, words: Sequence[str]) -> str:
        """One of the `words`: of every three the first in evaluation, one of the others in training."""
        return self.draw.one([word for number, word in enumerate(words) if (number % 3 == 0) == self.rare])

    def kind(self, on: str) -> str:
        """A noun for something of table `on`, as `sparrow` of `animal`."""
        return self.word(self.draw.one(kinds(on)).kinds)

    def adjective(self, on: str, pole: int) -> str:
        """What a good (0) or a bad one (1) of table `on` is, rare or not."""
        return self.draw.one(self.draw.one([scale for scale in lexicon().scales[on] if scale.value]).poles[pole])

    def saying(self, status: int) -> str:
        """A verb with `that` after it, which makes what is said true, open or false."""
        return self.word(lexicon().claims[status].verbs)
