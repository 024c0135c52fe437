"""Draws a sample of training batches, one epoch at a time, and takes its sequences apart by their special tokens."""

import bisect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bertlab.inputs.audit.checks import Flags, Numbers
from bertlab.inputs.collator import Batch, joined
from bertlab.progress import stop_if_asked
from bertlab.recipe import Recipe
from bertlab.text.tokens import TokenisedCorpus

Source = Callable[[int], Batch]
"""Returns batch number s of a training."""


@dataclass(frozen=True)
class Sample:
    """R sequences of one epoch in the order of training, padded with zeros to T positions."""

    recipe: Recipe
    corpus: TokenisedCorpus
    length: int
    """Tokens of a sequence at most."""
    start: int
    """The step of the first batch."""
    batches: list[Batch]
    """The batches that hold the sequences, of any epoch."""
    epoch: int

    @cached_property
    def whole(self) -> bool:
        """Whether these are all the sequences of the epoch."""
        return bool(self.batches[-1].epochs.max() > self.epoch)

    @cached_property
    def batch(self) -> Batch:
        """The sequences as one batch."""
        every = joined(self.batches)
        return every.map(lambda array: array[every.epochs == self.epoch])

    @cached_property
    def places(self) -> Numbers:
        """(R, 3) the step of each sequence, its number in the batch and the width of the batch."""
        every = [
            (step, number, batch.tokens.shape[1])
            for step, batch in enumerate(self.batches, start=self.start)
            for number in np.flatnonzero(batch.epochs == self.epoch)
        ]
        return np.array(every)

    def name(self, sequence: int) -> str:
        """The name of a sequence in messages."""
        return f"step {self.places[sequence, 0]}, sequence {self.places[sequence, 1]}"

    @cached_property
    def tokens(self) -> Numbers:
        """(R, T) ids before any loss replaced some."""
        tokens = self.batch.tokens.astype(np.int64)
        for loss in reversed(self.recipe.objective):
            loss.restore(tokens, self.batch.arrays[loss.kind])
        return tokens

    @cached_property
    def inner(self) -> Flags:
        """(R, T) each [SEP] but the last."""
        return np.asarray(self._inside & (self.tokens == self.corpus.tokenizer.sep))

    @cached_property
    def ordinary(self) -> Flags:
        """(R, T) all but [CLS], [SEP] and padding."""
        return self._inside & ~self.inner

    @cached_property
    def second(self) -> Flags:
        """(R, T) the ordinary tokens behind the first inner [SEP] of a pair."""
        return self.ordinary & (np.cumsum(self.inner, axis=1) > 0) & self.recipe.inputs.pairs

    @cached_property
    def later(self) -> Flags:
        """(R, T) the ordinary tokens of the segment that comes later in the text, or from another document."""
        return np.asarray(self.ordinary & (self.second != (self.batch.order == 1)[:, None]))

    @cached_property
    def word_starts(self) -> Flags:
        """(R, T) the ordinary tokens that begin a word; the first of a segment always does."""
        opens = self.ordinary & ~np.roll(self.ordinary, 1, axis=1)  # in front of the first is [CLS]
        starts = self.corpus.tokenizer.word_starts.take(self.tokens, mode="clip")  # a wrong label may be no id
        return opens | self.ordinary & starts

    @cached_property
    def sizes(self) -> Numbers:
        """(R,) ordinary tokens of each sequence."""
        return np.asarray(self.ordinary.sum(axis=1))

    @property
    def _inside(self) -> Flags:
        positions = np.arange(self.tokens.shape[1])
        return (positions > 0) & (positions < self.batch.lengths[:, None] - 1)


def draw(
    recipe: Recipe, corpus: TokenisedCorpus, source: Source, length: int, epoch: int, steps: range, most: int
) -> Sample | None:
    """The sequences of `epoch` from its first batch on, until it ends or `most` tokens are drawn, padding included.

    None if no step of `steps` reaches the epoch.
    """
    # An epoch has fewer sequences than the text has tokens, and a batch has one at least.
    steps = steps[: 1 + epoch * len(corpus.train.tokens) + len(corpus.train.tokens)]
    start = bisect.bisect_left(steps, epoch, key=lambda step: source(step).epochs.max())
    batches: list[Batch] = []
    tokens = 0
    for step in steps[start:]:
        stop_if_asked()
        batches.append(source(step))
        tokens += batches[-1].tokens.size
        if tokens >= most or batches[-1].epochs.max() > epoch:
            break
    return Sample(recipe, corpus, length, steps[start], batches, epoch) if batches else None


def again(sample: Sample, later: Sample) -> tuple[str, Numbers, Numbers]:
    """The time between two epochs in words, and the numbers of the sequences that both have: (N,) of each."""
    _, first, second = np.intersect1d(sample.batch.sequence_ids, later.batch.sequence_ids, return_indices=True)
    epochs = later.epoch - sample.epoch
    return f"after {epochs} epoch{'s' if epochs > 1 else ''}", first, second
