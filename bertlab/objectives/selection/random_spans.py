"""Random spans whose number and total length are exact (T5: Raffel et al. 2020, section 3.3.4)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from bertlab import keyed
from bertlab.arrays import Bool, Int32, UInt64
from bertlab.inputs.checks import Check, always, total
from bertlab.inputs.sample import Sample
from bertlab.inputs.streams import Sequences
from bertlab.objectives.selection.base import Choice, Chooser, Selection, chosen, slots
from bertlab.recipe.ranges import Range
from bertlab.text.tokenizers import TrainedTokenizer


@dataclass(frozen=True, kw_only=True)
class RandomSpans(Selection):
    """Spans of `mean` tokens on average: of n chosen tokens round(n / mean) spans, at least one.

    All ways to divide the chosen tokens into spans, and the others into the runs between them, are equally likely. The
    text begins with such a run and ends with a span, until it is rolled.
    """

    kind: ClassVar[str] = "random_spans"
    mean: Annotated[float, Range(1, 1000, "tokens")] = 3.0
    """Mean tokens of a span; 3 in T5."""
    roll: bool = True
    """Whether all is moved by a random number of tokens, and what leaves at the end comes in at the front; a span may
    become two. Without it, as in the released code, the last token of each text is chosen, and never the first."""

    def spans(self, chosen: int, ordinary: int) -> int:
        """Spans of so many chosen ones of `ordinary` tokens, before they are rolled."""
        return min(max(1, math.floor(chosen / self.mean + 0.5)), max(1, ordinary - chosen)) if chosen else 0

    def most_runs(self, chosen: int, ordinary: int) -> int:
        """One more than the spans if one is cut in two."""
        spans = self.spans(chosen, ordinary)
        return min(spans + 1, chosen, ordinary - chosen + 1) if self.roll else spans

    def mean_run(self, mask_prob: float, ordinary: int) -> float:
        """Chosen tokens by spans."""
        count = chosen(mask_prob, ordinary)
        return count / self.spans(count, ordinary)

    def chooser(self, mask_prob: float, tokenizer: TrainedTokenizer, length: int) -> Chooser:
        """Draws the ends of spans and of the runs between them, each as a sample of places without replacement."""
        counts = np.array([chosen(mask_prob, n) for n in range(length + 1)], dtype=np.int32)
        spans = np.array([self.spans(count, n) for n, count in enumerate(counts.tolist())], dtype=np.int32)
        most, column = int(spans.max()), np.arange(slots(mask_prob, length), dtype=np.int32)
        of_chosen = _divider(int(counts.max()), most)
        of_others = _divider(int((np.arange(length + 1) - counts).max()), most)
        purposes = [np.uint64(keyed.key(purpose)) for purpose in ("spans", "between", "roll")]

        def choose(sequences: Sequences, keys: UInt64) -> Choice:
            ordinary = sequences.ordinary
            count, parts = counts.take(ordinary), spans.take(ordinary)
            ends = of_chosen(keys ^ purposes[0], count, parts)
            between = of_others(keys ^ purposes[1], ordinary - count, parts)
            # The number of the span of each chosen token, over all sequences: the spans that have ended before it.
            rows, width = np.arange(len(keys), dtype=np.int64)[:, None], len(column) + 1
            ended = np.zeros((len(keys), width), dtype=np.int64)
            ended.reshape(-1)[ends[:, :-1].clip(max=width - 1) + rows * width] = 1
            number = np.cumsum(ended[:, :-1], axis=1).clip(max=most - 1) + rows * most
            begins = np.zeros_like(ends)
            begins[:, 1:] = ends[:, :-1]
            before = between.take(number)
            indices, group = column + before, begins.take(number) + before
            if self.roll:
                moved = keyed.integers(ordinary.astype(np.int64), keys ^ purposes[2]).astype(np.int32)[:, None]
                indices, group = (_wrapped(places + moved, ordinary) for places in (indices, group))
            return Choice(indices, (column < count[:, None]).astype(np.int32), group)

        return choose

    def apart(self, chosen: Bool) -> Bool:
        """The first token of each run, but of one that a span at the end of the text goes on in."""
        first = chosen & ~np.pad(chosen, ((0, 0), (1, 0)))[:, :-1]
        if self.roll:
            first[:, 1] = False
        return first

    def audit(self, sample: Sample, chosen: Bool) -> list[Check]:
        """The number of spans, and that those which are rolled are as likely at the end as elsewhere."""
        counts = chosen.sum(axis=1)
        spans = np.array([self.spans(*pair) for pair in zip(counts.tolist(), sample.sizes.tolist(), strict=True)])
        runs = (chosen & ~np.pad(chosen, ((0, 0), (1, 0)))[:, :-1]).sum(axis=1)
        separated = sample.inner.any(axis=1)
        wrong = ((runs < spans) | (runs > spans + self.roll)) & ~separated
        rule = f"round(chosen / {self.mean:g})" + ", or one more" * self.roll
        checks = [always("spans", rule, wrong, sample.name, f"{runs.sum() / len(runs):.2f} a sequence")]
        if not self.roll:
            return checks
        order = np.cumsum(sample.ordinary, axis=1)
        late = sample.ordinary & (4 * order > 3 * sample.sizes[:, None])
        expected = counts * late.sum(axis=1) / np.maximum(sample.sizes, 1)
        chosen_late = (chosen & late).sum(axis=1)
        spread = float(np.square(chosen_late - expected).sum())
        figure = "chosen in the last quarter"
        tokens = int(late.sum())
        even = total(figure, float(chosen_late.sum()), float(expected.sum()), spread, float(counts.sum()), tokens)
        return [*checks, even]


def _wrapped(places: Int32, ordinary: Int32) -> Int32:
    return places - ordinary[:, None] * (places >= ordinary[:, None])


def _divider(longest: int, most: int) -> Callable[[UInt64, Int32, Int32], Int32]:
    """Returns what maps keys (B,), totals (B,) of at most `longest` and numbers of parts (B,) to the ends of the parts,
    (B, `most`). All divisions are equally likely, each part is at least 1; the total stands in columns behind."""
    counters = np.arange(longest, dtype=np.uint32)
    number_bits = np.uint32((1 << (longest - 1).bit_length()) - 1)
    beyond = counters >= np.arange(longest + 1)[:, None] - 1  # the last place always ends a part
    low_bits = np.where(beyond, np.uint32(0xFFFFFFFF), counters)

    def ends(keys: UInt64, totals: Int32, parts: Int32) -> Int32:
        words = keyed.words(keys, counters)  # the low bits of each become its place
        words &= ~number_bits
        words |= low_bits.take(totals, axis=0)
        words.sort(axis=1)
        drawn = (words[:, : most - 1] & number_bits).astype(np.int32) + 1
        drawn = np.where(np.arange(drawn.shape[1]) < (parts - 1)[:, None], drawn, totals[:, None])
        drawn.sort(axis=1)
        out = np.repeat(totals[:, None], most, axis=1)
        out[:, : drawn.shape[1]] = drawn
        return out

    return ends
