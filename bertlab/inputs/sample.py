"""Draws a sample of training batches, one epoch at a time, takes its sequences apart, and traces them to the text.

In the first epoch, the text of a sequence (labels in place of what is shown) must stand at the offset that is its id; a
second segment from another document may stand anywhere.
"""

import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bertlab.arrays import Array, Bool, Int32, Int64, UInt64
from bertlab.inputs.streams import Batch, Stream, joined
from bertlab.progress import stop_if_asked
from bertlab.recipe import Recipe
from bertlab.recipe.objective import INPUTS
from bertlab.text.tokens import TokenisedCorpus

Source = Callable[[int], Batch]
"""Returns batch number s of a training."""
PREFIX = 8
"""Tokens of a segment whose hash finds candidates; all its tokens are then compared. A shorter segment from another
document is not searched: it stands in many places."""
_CHUNK = 1 << 22
"""Tokens of the text that are searched together."""


@dataclass(frozen=True)
class Sample:
    """R sequences of one epoch in the order of training, padded with zeros to T positions."""

    recipe: Recipe
    corpus: TokenisedCorpus
    length: int
    """Tokens of the text of a sequence at most."""
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
        return every.rows(every.epochs == self.epoch)

    def of_loss(self, kind: str) -> "Sample":
        """The sample of the sequences that a loss has."""
        if "sequences" not in self.batch.arrays[kind]:
            return self
        flags = [batch.arrays[kind]["sequences"] > 0 for batch in self.batches]
        batches = [batch.rows(has) for batch, has in zip(self.batches, flags, strict=True)]
        return replace(self, batches=batches)

    @cached_property
    def places(self) -> Int64:
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
    def text(self) -> Stream:
        """The sequences before any loss changed them."""
        streams: Mapping[str, Any] = self.batch.streams
        for loss in reversed(self.recipe.objective):
            streams = loss.restored(streams, self.batch.arrays[loss.kind])
        text: Stream = streams[INPUTS]
        return text

    @property
    def tokens(self) -> Int32:
        """(R, T) the ids of the text."""
        return self.text.tokens

    @cached_property
    def traced(self) -> "Trace":
        """The places of its tokens in the text, for the first epoch only."""
        return trace(self)

    @cached_property
    def inner(self) -> Bool:
        """(R, T) each [SEP] but the last."""
        return np.asarray(self._inside & (self.tokens == self.corpus.tokenizer.sep))

    @cached_property
    def ordinary(self) -> Bool:
        """(R, T) all but [CLS], [SEP] and padding."""
        return self._inside & ~self.inner

    @cached_property
    def second(self) -> Bool:
        """(R, T) the ordinary tokens behind the first inner [SEP] of a pair."""
        return self.ordinary & (np.cumsum(self.inner, axis=1) > 0) & self.recipe.inputs.format.pairs

    @cached_property
    def later(self) -> Bool:
        """(R, T) the ordinary tokens of the segment that comes later in the text, or from another document."""
        return np.asarray(self.ordinary & (self.second != self.swapped[:, None]))

    @cached_property
    def is_random_next(self) -> Bool:
        """(R,) whether the second segment is said to be from another document."""
        return np.asarray(self.batch.format.get("is_random_next", 0 * self.text.lengths) == 1)

    @cached_property
    def swapped(self) -> Bool:
        """(R,) whether the two segments are said to be exchanged."""
        return np.asarray(self.batch.format.get("swapped", 0 * self.text.lengths) == 1)

    @cached_property
    def word_starts(self) -> Bool:
        """(R, T) the ordinary tokens that begin a word; the first of a segment always does."""
        opens = self.ordinary & ~np.roll(self.ordinary, 1, axis=1)  # in front of the first is [CLS]
        starts = self.corpus.tokenizer.word_starts.take(self.tokens, mode="clip")  # a wrong label may be no id
        return opens | self.ordinary & starts

    @cached_property
    def sizes(self) -> Int64:
        """(R,) ordinary tokens of each sequence."""
        return np.asarray(self.ordinary.sum(axis=1))

    @cached_property
    def boundaries(self) -> Bool:
        """(N + 1,) the offsets of the text, of N tokens, at which sentences begin or end."""
        flags = np.zeros(len(self.corpus.train.tokens) + 1, dtype=np.bool_)
        flags[np.asarray(self.corpus.train.sentences)] = True
        return flags

    @property
    def _inside(self) -> Bool:
        positions = np.arange(self.tokens.shape[1])
        return (positions > 0) & (positions < self.text.lengths[:, None] - 1)


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


def again(sample: Sample, later: Sample) -> tuple[str, Int64, Int64]:
    """The time between two epochs in words, and the numbers of the sequences that both have: (N,) of each."""
    _, first, second = np.intersect1d(sample.batch.sequence_ids, later.batch.sequence_ids, return_indices=True)
    epochs = later.epoch - sample.epoch
    return f"after {epochs} epoch{'s' if epochs > 1 else ''}", first, second


@dataclass(frozen=True)
class Trace:
    """The places in the text of the tokens of R sequences of T positions."""

    places: Int64
    """(R, T) offset in the text of each ordinary token; -1 for tokens that were not found, and for all others."""
    agrees: Bool
    """(R,) whether the first segment was found at the id of the sequence, and the second, unless it is another
    document's and too short to be searched for."""
    follows: Bool
    """(R,) whether the later segment was found behind the earlier one."""
    ends: Int64
    """(D,) offsets at which the documents of the text end."""

    @property
    def document(self) -> Int64:
        """(R, T) the document of each token; meaningless for one without a place."""
        return np.searchsorted(self.ends, self.places, side="right")


def trace(sample: Sample) -> Trace:
    """Finds the sequences of the first epoch in the text."""
    text = np.asarray(sample.corpus.train.tokens)
    ends = np.asarray(sample.corpus.train.sentences)[np.asarray(sample.corpus.train.documents[1:])]
    reach = sample.length if sample.recipe.inputs.format.cut_in_front else 0
    places = np.full(sample.tokens.shape, -1)
    agrees, follows = np.zeros((2, len(places)), dtype=np.bool_)
    queries = []
    for number, begin in enumerate(sample.batch.sequence_ids.tolist()):
        one, two = sample.ordinary[number] & ~sample.later[number], sample.later[number]
        first, second = sample.tokens[number, one], sample.tokens[number, two]
        offset = _find(text, first, begin, reach)
        agrees[number] = offset is not None
        begin = begin if offset is None else offset
        places[number, one] = begin + np.arange(len(first))
        behind = None if sample.is_random_next[number] else _find(text, second, begin + len(first), reach)
        if behind is not None:
            follows[number] = True
            places[number, two] = behind + np.arange(len(second))
        elif len(second) >= PREFIX:
            queries.append(number)
    places[places >= len(text)] = -1
    if queries:
        segments = [sample.tokens[number, sample.later[number]] for number in queries]
        home = np.searchsorted(ends, sample.batch.sequence_ids[queries], side="right")
        offsets = elsewhere(text, ends, segments, home)
        agrees[queries] &= offsets >= 0
        for number, start, segment in zip(queries, offsets.tolist(), segments, strict=True):
            if start >= 0:
                places[number, sample.later[number]] = start + np.arange(len(segment))
    return Trace(places, agrees, follows, ends)


def _find(text: Array, segment: Int64, begin: int, reach: int) -> int | None:
    """The first offset from `begin` on, at most `reach` behind it, at which `text` has the `segment`."""
    for offset in range(begin, min(begin + reach, len(text) - len(segment)) + 1):
        if np.array_equal(text[offset : offset + len(segment)], segment):
            return offset
    return None


def elsewhere(text: Array, ends: Int64, segments: list[Int64], home: Int64) -> Int64:
    """An offset of each of Q segments of `PREFIX` tokens or more, (Q,): in a document other than `home` (Q,) if any.

    -1 if no document has the segment; `ends` (D,) are the offsets where documents end.
    """
    import pandas

    places, apart = np.full(len(segments), -1), np.zeros(len(segments), dtype=np.bool_)
    keys = _hashes(np.array([segment[:PREFIX] for segment in segments]))
    for low in range(0, len(text) - PREFIX + 1, _CHUNK):
        part = text[low : low + _CHUNK + PREFIX - 1]
        words = _hashes(np.lib.stride_tricks.sliding_window_view(part, PREFIX))
        begins = np.flatnonzero(pandas.Index(words).isin(keys))
        candidates = pandas.Series(begins).groupby(words[begins]).indices
        for query in np.flatnonzero(~apart):
            segment = segments[query]
            for offset in low + begins[candidates.get(keys[query], [])]:
                document, stop = np.searchsorted(ends, offset, side="right"), offset + len(segment)
                if stop <= ends[document] and np.array_equal(text[offset:stop], segment):
                    places[query], apart[query] = offset, document != home[query]
                    if apart[query]:
                        break
    return places


def _hashes(words: Array) -> UInt64:
    """A hash of each row of (N, `PREFIX`) tokens."""
    hashes = np.zeros(len(words), dtype=np.uint64)
    for column in words.T:
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64)
    return hashes
