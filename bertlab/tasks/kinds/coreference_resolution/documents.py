"""Documents as examples: several segments each, the places of their words, and the gold mentions among these."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bertlab.arrays import Integer
from bertlab.tasks.examples import ExampleBatch, Examples, padded, rounded, sizes

STRIDE = 2**20
"""The distance between the first tokens of two segments in counted positions: more tokens than any segment has."""


@dataclass(frozen=True, kw_only=True)
class Documents(Examples):
    """E documents, or parts of them; each has one or several segments, and N words. `positions` and `lasts` have the
    first and the last token of each word, counted from the first segment as if all had `stride` tokens. `targets` are
    not labels: each stands for a row of the output, first the kept spans of a document, then its gold mentions."""

    lasts: list[Integer]
    sentences: list[Integer]
    """The sentence of each word of each document."""
    mentions: list[Integer]
    """The gold mentions of each document, (G, 3): first word, last word, cluster."""
    num_spans: Integer
    """(E,) the number of spans to keep."""
    starts: Integer
    """(E,) the first word, in its raw example."""
    opens: Integer
    """(E + 1,) the first segment of each document, and the end."""

    @cached_property
    def lengths(self) -> Integer:
        """(E,) tokens of all segments of each document."""
        return np.add.reduceat(sizes(self.sequences), self.opens[:-1])

    @cached_property
    def counts(self) -> Integer:
        """(E,) the number of rows of each document."""
        return self.num_spans + sizes(self.mentions)

    def batch(self, examples: Integer) -> DocumentBatch:
        """The documents at these indices."""
        segments = [np.arange(self.opens[index], self.opens[index + 1]) for index in examples]
        sequences = [self.sequences[row] for row in np.concatenate(segments)]
        lengths, words = sizes(sequences), sizes([self.positions[index] for index in examples])
        tokens = padded(sequences, lengths, rounded(lengths, sizes(self.sequences), self.width_step), self.pad)
        before = np.cumsum([0, *map(len, segments)])

        def places(of_words: list[Integer]) -> Integer:
            """Tokens of words, counted over all segments of the batch."""
            tokens_of_words: list[Integer] = []
            for begin, index in zip(before[:-1], examples, strict=True):
                row, column = np.divmod(of_words[index], STRIDE)
                tokens_of_words.append((begin + row) * tokens.shape[1] + column)
            return padded(tokens_of_words, words, int(words.max()), 0)

        num_spans, gold = self.num_spans[examples], sizes([self.mentions[index] for index in examples])
        most = int(num_spans.max())
        mentions = np.full((len(examples), max(1, int(gold.max())), 3), -1, np.int32)
        column = np.arange(most + mentions.shape[1])
        slots = np.where(column < most, column, column - most + num_spans[:, None])
        used = np.where(column < most, column < num_spans[:, None], column - most < gold[:, None])
        for row, index in enumerate(examples):
            mentions[row, : gold[row]] = self.mentions[index]
        return DocumentBatch(
            tokens=tokens,
            segments=np.zeros_like(tokens),
            lengths=lengths.astype(np.int32),
            positions=places(self.positions),
            targets=mentions,
            slots=np.where(used, self.first_targets[examples][:, None] + slots, -1),
            lasts=places(self.lasts),
            sentences=padded([self.sentences[index] for index in examples], words, int(words.max()), -1),
            num_spans=num_spans.astype(np.int32),
        )


@dataclass(frozen=True, kw_only=True)
class DocumentBatch(ExampleBatch):
    """B documents of R segments in all. `positions` and `lasts` (B, N) are the first and the last tokens of words among
    the R x T tokens, `targets` (B, G, 3) the gold mentions, -1 for padding."""

    lasts: Integer
    sentences: Integer
    """(B, N) the sentence of each word, -1 for padding."""
    num_spans: Integer
    """(B,) the number of spans to keep."""


@dataclass
class DocumentPart:
    """A part of a document: its segments and, of each word, its first and last token and its sentence."""

    document: int
    start: int
    """The number of the first word in the document."""
    segments: list[list[int]] = field(default_factory=lambda: [[]])
    firsts: list[int] = field(default_factory=list)
    lasts: list[int] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)

    def add(self, pieces: list[int], sentence: int) -> None:
        """Adds a word to the last segment, behind its [CLS]."""
        begin = (len(self.segments) - 1) * STRIDE + len(self.segments[-1]) + 1
        self.segments[-1] += pieces
        self.firsts.append(begin)
        self.lasts.append(begin + len(pieces) - 1)
        self.sentences.append(sentence)

    def mentions(self, clusters: Sequence[Sequence[tuple[int, int]]]) -> Integer:
        """(G, 3) the mentions of a document that are in this part: first word, last word, cluster."""
        end = self.start + len(self.sentences)
        mentions = sorted(
            (first - self.start, last - self.start, number)
            for number, cluster in enumerate(clusters)
            for first, last in cluster
            if self.start <= first and last < end
        )
        return np.array(mentions, np.int64).reshape(-1, 3)


def divided(
    document: int, sentences: list[list[list[int]]], of_part: list[int], budget: int, most: int
) -> Iterator[DocumentPart]:
    """The parts of a document, given the pieces of each word of its sentences: segments have at most `budget` pieces,
    parts at most `most` segments; any number for 0."""
    part, start, before = DocumentPart(document, 0), 0, of_part[0]
    for number, (words, part_id) in enumerate(zip(sentences, of_part, strict=True)):
        whole = sum(map(len, words))
        for at, pieces in enumerate(words):
            needed = whole if at == 0 else len(pieces)
            other = part_id != before
            if other or (part.segments[-1] and len(part.segments[-1]) + needed > budget):
                if other or len(part.segments) == most:
                    yield part
                    part = DocumentPart(document, start)
                else:
                    part.segments.append([])
            before = part_id
            part.add(pieces, number)
            start += 1
    yield part


def by_word(pieces: list[int], of_word: list[int], most: int) -> list[list[int]]:
    """The pieces of each word of a sentence, of each at most `most`."""
    grouped = itertools.groupby(zip(of_word, pieces, strict=True), key=lambda pair: pair[0])
    return [[piece for _, piece in group][:most] for _, group in grouped]
