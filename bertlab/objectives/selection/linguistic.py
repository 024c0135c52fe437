"""Half of the tokens by linguistic spans, the others by whole words (SpanBERT: Joshi et al. 2020, Table 6)."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from bertlab import keyed
from bertlab.arrays import Array, Bool, Float64, Int32, Int64, UInt32, UInt64
from bertlab.inputs.checks import Check
from bertlab.inputs.sample import Sample
from bertlab.inputs.streams import Batch, Sequences
from bertlab.objectives.selection.runs import RunSelection
from bertlab.objectives.selection.words import Words
from bertlab.text.annotation import BEGINS, marks_of
from bertlab.text.tokens import Part

_FEWEST = 30
"""Sequences below which a mean is not tested."""
_DEVIATIONS = 4.75
"""Standard errors by which a mean is exceeded once in a million times."""


class LinguisticSelection(RunSelection):
    """Spans of one kind in random order, each as a whole, until they have half of the tokens; then whole words.

    From the paper: linguistic spans half of the time, otherwise random words; the spans are spaCy's. Ours: half of the
    *tokens*, in the mean. The span that would go beyond the half is the last, and is taken with the probability that
    makes half the mean, so that long spans are not avoided; one that exceeds the number of all tokens is skipped. Words
    have what spans leave, as in `WholeWords`. Chosen tokens that stand side by side are replaced as a whole, as in
    `GeometricSpans`. (The released code draws which of the two it adds each time, and cuts the last one.)

    A span consists of the words whose first tokens are in it; of one that a sequence cuts, those that are there.
    """

    annotated: ClassVar[bool] = True
    span: ClassVar[int]
    """Their kind, as in `text.annotation`."""
    spans: ClassVar[str]
    """Their name in audits."""

    def turns(self, words: Words, ranks: UInt32, keys: UInt64, sequences: Sequences, budget: Int32) -> UInt64:
        """Ranks, above those of words that are in no span taken."""
        marks = sequences.marks.reshape(-1).take(words.positions)
        owner, first = _spans(marks_of(self.span, marks), np.diff(words.segments, prepend=-1) != 0)
        size = np.bincount(owner + 1, words.sizes.reshape(-1)[words.places], len(first) + 1)[1:].astype(np.int64)
        sequence = np.repeat(np.arange(len(budget)), words.counts)[first]
        order = np.lexsort((words.ranks(keys ^ np.uint64(keyed.key("linguistic span")))[first], sequence))
        row, counts = sequence[order], np.bincount(sequence, minlength=len(budget))
        column = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        sizes, draws = np.zeros((2, len(budget), int(counts.max(initial=0))))
        sizes[row, column] = size[order]
        draws[row, column] = words.bits(keys ^ np.uint64(keyed.key("beyond the half")))[first][order] / 2**32
        taken = np.zeros(len(first) + 1, dtype=np.bool_)
        taken[order] = _up_to_half(sizes, draws, budget)[row, column]
        return (~taken[owner]).astype(np.uint64) << np.uint64(32) | ranks

    def targets(self, batch: Batch, text: Part) -> Mapping[str, Any]:
        """The sequences with spans of its kind where they begin in the text."""
        assert text.marks is not None  # the recipe has had its corpus annotated
        begins, ends = batch.sequence_ids, batch.sequence_ids + batch.lengths
        pieces = [text.marks[low:high] for low, high in zip(begins, ends, strict=True)]
        return {f"of the sequences have {self.spans}": [bool(marks_of(self.span, piece).any()) for piece in pieces]}

    def audit(self, sample: Sample, chosen: Bool) -> list[Check]:
        """Where there are spans enough, half of the chosen tokens or more are of spans chosen whole."""
        # Spans are known where the place in the text is: not of another document's segments.
        traced, marks = sample.traced, sample.corpus.train.marks
        traceable = traced.agrees & ~sample.is_random_next & ((traced.places >= 0) == sample.ordinary).all(axis=1)
        ordinary, starts = sample.ordinary[traceable], sample.word_starts[traceable]
        opens = ordinary & ~np.roll(ordinary, 1, axis=1)
        assert marks is not None  # the recipe has had its corpus annotated
        owner, first = _spans(marks_of(self.span, marks[traced.places[traceable][starts]]), opens[starts])
        owner = owner[np.cumsum(starts[ordinary]) - 1]  # of each token
        size = np.bincount(owner + 1, minlength=len(first) + 1)[1:]
        whole = size == np.bincount(owner + 1, chosen[traceable][ordinary], len(first) + 1)[1:]
        sequence, counts = np.nonzero(starts)[0][first], chosen[traceable].sum(axis=1)
        short = 2 * size <= counts[sequence]
        enough = 2 * np.bincount(sequence, size * short, len(counts)) >= counts
        covered = np.bincount(sequence, size * whole, len(counts))[enough]
        excess, drawn = covered - counts[enough] / 2, f"{int(enough.sum()):,} sequences with enough"
        figure, expected = f"tokens of whole {self.spans}", "half of the chosen, or more"
        if len(excess) < _FEWEST:
            return [*super().audit(sample, chosen), Check(figure, "", expected, f"too few, {drawn}", None)]
        holds = bool(excess.mean() + _DEVIATIONS * excess.std() / np.sqrt(len(excess)) >= 0)
        share = covered.sum() / counts[enough].sum()
        return [*super().audit(sample, chosen), Check(figure, f"{share:.2%}", expected, drawn, holds)]


def _spans(marks: Array, opens: Bool) -> tuple[Int64, Int64]:
    """The span of each of W words, -1 for none, and the first word of each span, by the marks of the words (W,).

    `opens` (W,) are the words that begin a segment, and so another span.
    """
    inside = marks > 0
    begins = inside & ((marks == BEGINS) | opens | ~np.append(False, inside[:-1])[: len(inside)])
    return np.where(inside, np.cumsum(begins) - 1, -1), np.flatnonzero(begins)


def _up_to_half(sizes: Float64, draws: Float64, budget: Int32) -> Bool:
    """Which spans of `sizes` (B, S), 0 for none, are taken in their order, with a draw from [0, 1) for each."""
    taken = np.zeros(sizes.shape, dtype=np.bool_)
    spent, going = np.zeros(len(budget)), np.ones(len(budget), dtype=np.bool_)
    for size, draw, take in zip(sizes.T, draws.T, taken.T, strict=True):
        left = budget / 2 - spent
        fits = going & (left > 0) & (size > 0) & (spent + size <= budget)
        take[:] = fits & (draw * size < left)  # always, if the half is not exceeded
        going &= ~fits | (size <= left)
        spent += size * take
        if not going.any():
            break
    return taken
