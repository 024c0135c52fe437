"""Random spans of whole words (SpanBERT: Joshi et al. 2020, section 3.1)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from bertlab.objectives.selection.runs import RunSelection
from bertlab.objectives.selection.spans import SpanSelection
from bertlab.recipe.ranges import POSITIVE_SHARE, Range


@dataclass(frozen=True, kw_only=True)
class GeometricSpans(RunSelection, SpanSelection):
    """Spans of l words, l from Geo(p) clipped at `longest` (renormalised), that begin at a uniformly drawn word.

    Spans are drawn until the tokens are spent. They end at [SEP] at the latest; spans that overlap or touch become one,
    as in the released code. The last one ends before the word that would exceed the number of tokens, and the rest of
    the number goes to single words, as in `WholeWords`. (The released code cuts that word, and draws a start uniformly
    from the tokens that are not chosen yet.)
    """

    kind: ClassVar[str] = "geometric_spans"
    p: Annotated[float, POSITIVE_SHARE] = 0.2
    """Parameter of Geo(p): the smaller, the longer the spans; 0.2 in SpanBERT."""
    longest: Annotated[int, Range(1, 100, "words")] = 10
    """With p = 0.2 the mean is 3.8 words."""

    def at_most(self, words: int) -> float:
        """The probability that a span has at most this many words."""
        return (1 - (1 - self.p) ** words) / (1 - (1 - self.p) ** self.longest)
