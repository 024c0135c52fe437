"""N-grams of whole words (ALBERT: Lan et al. 2020, section 4.1)."""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from bertlab.objectives.selection.spans import SpanSelection
from bertlab.recipe.ranges import Range


@dataclass(frozen=True, kw_only=True)
class NGrams(SpanSelection):
    """N-grams of n "complete words", p(n) proportional to 1/n up to `longest`, that begin at a uniformly drawn word.

    N-grams are drawn until the tokens are spent. They end at [SEP] at the latest; those that overlap become one, as in
    SpanBERT, which the paper cites for its masking. The last one ends before the word that would exceed the number of
    tokens, and the rest of the number goes to single words, as in `WholeWords`. What is shown for each token is drawn
    independently, as in the released code; the paper does not say. (The released code skips an n-gram that overlaps
    another one, and shortens one that would exceed the number.)
    """

    kind: ClassVar[str] = "ngrams"
    longest: Annotated[int, Range(1, 100, "words")] = 3
    """With 3 the mean is 18/11 words."""

    def at_most(self, words: int) -> float:
        """The probability that an n-gram has at most this many words."""
        return _harmonic(words) / _harmonic(self.longest)


def _harmonic(words: int) -> float:
    """The sum of 1/n for n up to `words`."""
    return math.fsum(1 / n for n in range(1, words + 1))
