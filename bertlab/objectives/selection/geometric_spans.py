"""Random spans of whole words (SpanBERT: Joshi et al. 2020, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bertlab.objectives.selection.base import Choice, Chooser, Selection
from bertlab.recipe.ranges import POSITIVE_SHARE, Range

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bertlab import keyed
    from bertlab.inputs.collator import Integers, Sequences, Tokenizer


@dataclass(frozen=True, kw_only=True)
class GeometricSpans(Selection):
    """Spans of l words, l from Geo(p) clipped at `longest` (renormalised), that begin at a uniformly drawn word.

    Spans are drawn until the tokens are spent. They end at [SEP] at the latest; those that overlap or touch become one,
    as in the released code. The last one ends before the word that would exceed the number of tokens, and what is left
    goes to single words, as in `WholeWords`. (The released code cuts that word, and draws a start uniformly from the
    tokens that are not chosen yet.)
    """

    kind: ClassVar[str] = "geometric_spans"
    p: Annotated[float, POSITIVE_SHARE] = 0.2
    longest: Annotated[int, Range(1, 100, "words")] = 10
    """With p = 0.2 the mean is 3.8 words."""
    span_corruption: bool = True
    """Whether all tokens of a span become [MASK], stay, or become random together."""

    def at_most(self, words: int) -> float:
        """The probability that a span has at most this many words."""
        return (1 - (1 - self.p) ** words) / (1 - (1 - self.p) ** self.longest)

    def prepare(self, mask_prob: float, tokenizer: Tokenizer, length: int) -> Chooser:
        """Gives each word the turn of the first span that covers it, and chooses the words whose turn comes first."""
        import numpy as np

        from bertlab import keyed
        from bertlab.objectives.selection.words import Budget

        budget = Budget(mask_prob, tokenizer, length)
        size, never = np.uint64(keyed.key("span length")), np.uint32(0xFFFFFFFF)
        until = [np.uint32(min(round(self.at_most(words) * 2**32), 2**32 - 1)) for words in range(self.longest)]

        def choose(sequences: Sequences, keys: keyed.Words) -> Choice:
            words = budget.words(sequences)
            ranks, sizes, segments = words.ranks(keys), words.bits(keys ^ size), words.segments
            turns = ranks.copy()
            for ahead in range(1, self.longest):
                beyond = (sizes[:-ahead] < until[ahead]) | (segments[:-ahead] != segments[ahead:])
                np.minimum(turns[ahead:], ranks[:-ahead] | never * beyond, out=turns[ahead:])
            in_order = turns.astype(np.uint64) << np.uint64(32) | words.numbers
            numbers, used = budget.spend(sequences, words, in_order, ranks)
            if not self.span_corruption:
                return Choice(numbers, used, numbers)
            numbers[used == 0] = length
            numbers.sort(axis=1)
            return Choice(numbers, used, _runs(numbers, sequences.before))

        return choose

    def apart(self, chosen: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The first token of each span."""
        import numpy as np

        if not self.span_corruption:
            return chosen
        return np.asarray(chosen & ~np.pad(chosen, ((0, 0), (1, 0)))[:, :-1])

    def audit(self, rows: Any, chosen: npt.NDArray[Any], tokenizer: Tokenizer) -> list[Any]:
        """Words stay whole, spans are those of a plain draw, and what is shown is decided once for each."""
        from bertlab.objectives.selection.audit import like_a_plain_draw, shown_alike, whole

        alike = [shown_alike(rows, chosen, tokenizer.mask)] if self.span_corruption else []
        return [whole(rows, chosen), *alike, *like_a_plain_draw(rows, chosen, self.draw)]

    def audit_again(self, figure: str, rows: Any, which: Any, chosen: Any, later: Any) -> list[Any]:
        """As many tokens are chosen twice as in a plain draw."""
        from bertlab.objectives.selection.audit import like_another_draw

        return [like_another_draw(figure, rows, which, chosen, later, self.draw)]

    def draw(self, random: np.random.Generator, ends: npt.NDArray[Any]) -> list[range]:
        """Spans of words in the order in which they are chosen; `ends` (W,) has the end of each word's segment."""
        shares = [self.p * (1 - self.p) ** (words - 1) for words in range(1, self.longest + 1)]
        sizes = random.choice(range(1, self.longest + 1), p=[share / sum(shares) for share in shares], size=len(ends))
        return [range(word, min(word + sizes[word], ends[word])) for word in random.permutation(len(ends))]


def _runs(numbers: Integers, before: Integers) -> Integers:
    """The first number of each one's run of consecutive ones, in numbers (B, K) that ascend; a [SEP] ends a run."""
    import numpy as np

    begins = np.diff(numbers, axis=1, prepend=-2) != 1
    for column in before.T:
        begins |= numbers == column[:, None]
    return np.maximum.accumulate(numbers * begins, axis=1)
