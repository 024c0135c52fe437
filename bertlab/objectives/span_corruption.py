"""Span corruption, and what T5 compares it with (Raffel et al. 2020, section 3.3)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from bertlab import keyed
from bertlab.arrays import Array, Bool, Int32, Int64, UInt64
from bertlab.errors import BadInput
from bertlab.inputs.checks import Check, always, share
from bertlab.inputs.sample import Sample, again
from bertlab.inputs.streams import Sequences, Stream
from bertlab.objectives.masked_lm import Corruption
from bertlab.objectives.selection import Choice, Selection, Tokens, chosen
from bertlab.objectives.sequence_to_sequence import OUTPUTS, TRAINING, SequenceToSequence, Split, packed
from bertlab.recipe import Recipe
from bertlab.recipe.objective import INPUTS, Arrays
from bertlab.recipe.ranges import POSITIVE_SHARE, SHARE
from bertlab.text.tokenizers import TrainedTokenizer

_TOKENS = Tokens()


@dataclass(frozen=True, kw_only=True)
class SpanCorruption(SequenceToSequence):
    """Reads a text of which some tokens are hidden, and writes these tokens, or the text.

    A run of hidden tokens is a span. In the inputs one sentinel stands for each; in the targets each span follows its
    sentinel, and a last sentinel stands at the end if the text goes on behind the last span. (The released code numbers
    the runs that are shown, which is the same for a text that does not begin with a span.)
    """

    kind: ClassVar[str] = "span_corruption"
    metric_labels: ClassVar[Mapping[str, str]] = {
        "span_corruption_loss": "hidden tokens",
        "exchanged_loss": "with another text's inputs",
        "span_corruption_accuracy": "hidden tokens, accuracy",
        "all_targets_loss": "all targets",
        TRAINING: "hidden tokens, training text",
    }
    meaning: ClassVar[str] = (
        "Span corruption: the loss of the hidden tokens of held-out text, each written from those before it and from "
        "the inputs; and the same with the inputs of another text. A model whose two losses are equal does not read "
        "its inputs. The loss of all targets counts sentinels and [SEP] too, which are easy, or the tokens that the "
        "inputs show: it does not compare variants with different targets. The loss on the training text has tokens "
        "hidden anew, and no dropout."
    )
    mask_prob: Annotated[float, POSITIVE_SHARE] = 0.15
    """Share of the ordinary tokens that are hidden."""
    selection: Selection = _TOKENS
    """Which tokens are hidden: single `Tokens`, `RandomSpans` or other groups."""
    shown: Literal["sentinels", "mask", "dropped"] = "sentinels"
    """What the inputs have in place of hidden tokens: a sentinel for each run, [MASK] for each token, or nothing."""
    random: Annotated[float, SHARE] = 0.0
    """Probability that a random ordinary token is shown in place of a [MASK]; 0.1 in T5's BERT-style."""
    target: Literal["spans", "text"] = "spans"
    """What is written: the hidden spans, or the whole text."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.random and self.shown != "mask":
            raise BadInput(
                f"{self.kind}.random is a share of the [MASK]s: set {self.kind}.shown to mask, or leave it out"
            )

    def check(self, recipe: Recipe) -> None:
        """Raises `BadInput` for a model without a decoder, or for too few sentinels."""
        super().check(recipe)
        needed = self.sentinels(self.text_length(recipe.inputs.longest))
        if recipe.schedule.steps and recipe.tokenizer.sentinels < needed:
            raise BadInput(
                f"objective: {self.kind} hides up to {needed - 1} spans of a text, and tokenizer.sentinels is "
                f"{recipe.tokenizer.sentinels}: set it to {needed} or more"
            )

    def text_length(self, length: int) -> int:
        """With sentinels, as much text as fills inputs of `length` tokens; else `length`, as in T5."""
        if self.shown != "sentinels":
            return length
        text = length
        while max(map(self._inputs, (text, text + 1))) <= length:
            text += 1
        return text

    def sentinels(self, text: int) -> int:
        """The most sentinels that texts of at most `text` tokens take, with the one at the end."""
        if self.shown == "dropped" or (self.shown, self.target) == ("mask", "text"):
            return 0
        return 1 + max(self._runs(ordinary) for ordinary in range(1, max(2, text - 1)))

    def _runs(self, ordinary: int) -> int:
        return self.selection.most_runs(chosen(self.mask_prob, ordinary), ordinary)

    def _inputs(self, text: int, separators: int = 0) -> int:
        """The most inputs of a text of `text` tokens with so many inner [SEP], if each span has a sentinel."""
        ordinary = text - 2 - separators
        return text if self.selection.fewer else text - chosen(self.mask_prob, ordinary) + self._runs(ordinary)

    def outputs(self, length: int) -> float:
        """The hidden tokens with their sentinels, or the text, and [SEP]."""
        ordinary = self.text_length(length) - 2
        if self.target == "text":
            return ordinary + 1
        runs = 0 if self.shown == "dropped" else self._runs(ordinary)
        return chosen(self.mask_prob, ordinary) + runs + 1

    @property
    def placed(self) -> bool:
        """Whether hidden tokens are written whose places no sentinel shows."""
        return self.target == "spans" and self.shown != "sentinels"

    def splitter(self, tokenizer: TrainedTokenizer, length: int, seed: int | str) -> Callable[[Sequences], Split]:
        """Chooses tokens, and hides them."""
        choose = self.selection.chooser(self.mask_prob, tokenizer, length)
        replace = Corruption(mask=1 - self.random, keep=0.0, random=self.random).replacer(tokenizer)
        base, pad, marks = keyed.key(seed, "spans", length), tokenizer.pad, tokenizer.sentinels
        width = chosen(self.mask_prob, length - 2) + self.sentinels(length) + 1
        sizes = range(3, length + 1)
        read = functools.cache(
            lambda most: max(self._inputs(text, inner) for text in sizes for inner in range(min(most, text - 3) + 1))
        )

        def split(sequences: Sequences) -> Split:
            text, lengths, separators = sequences.tokens, sequences.lengths, sequences.separator_offsets.shape[1]
            keys = keyed.bits(keyed.key(base, sequences.epoch), sequences.sequence_ids)
            choice = choose(sequences, keys)
            spans = _Spans.of(sequences, choice)
            if self.shown == "mask":
                inputs = Stream(_replaced(sequences, choice, keys, replace), lengths)
            elif self.shown == "dropped":
                inputs = packed(text, spans.rest(spans.hidden), length, pad)
            else:
                begins = np.flatnonzero(spans.begins & spans.hidden)
                marked = text.copy()
                marked.reshape(-1)[spans.flat.take(begins)] = marks.take(spans.number.take(begins))
                inputs = packed(marked, spans.rest(spans.hidden & ~spans.begins), read(separators), pad)
            if self.target == "text":
                hidden = ~spans.rest(spans.hidden)[:, 1:] & (np.arange(1, text.shape[1]) < lengths[:, None])
                return Split(inputs, Stream(text[:, 1:], lengths - 1), hidden)
            return spans.targets(inputs, width + separators, None if self.shown == "dropped" else marks, self.placed)

        return split

    # Audit.

    def restored(self, streams: Mapping[str, Any], arrays: Arrays) -> Mapping[str, Any]:
        """The text: hidden spans back in the places of their sentinels."""
        text, lengths, _ = self._text(streams, arrays)
        others = {name: stream for name, stream in streams.items() if name != OUTPUTS}
        return {**others, INPUTS: Stream(text, lengths)}

    def _text(self, streams: Mapping[str, Any], arrays: Arrays) -> _Text:
        """The text of R sequences, and which of its tokens were hidden."""
        inputs, (targets, count, counted) = streams[INPUTS], self.targets_of(streams, arrays)
        if self.target == "text":
            first = inputs.tokens[:, :1]
            return _Text(np.hstack([first, targets]), count + 1, np.hstack([first < 0, counted]))
        if self.shown == "sentinels":
            return _put_back(inputs, targets, count, counted)
        lengths = inputs.lengths + (counted.sum(axis=1, dtype=np.int32) if self.shown == "dropped" else 0)
        masked = np.zeros((len(lengths), int(lengths.max())), dtype=np.bool_)
        rows, slots = np.nonzero(counted)
        shift = (inputs.lengths - 1) * self.over_inputs
        masked[rows, arrays["places"][rows, slots + shift[rows]].clip(max=masked.shape[1] - 1)] = True
        column = np.arange(masked.shape[1])
        real = column < lengths[:, None]
        text = np.zeros(masked.shape, dtype=np.int32)
        shown = np.arange(inputs.tokens.shape[1]) < inputs.lengths[:, None]
        if self.shown == "mask":
            text[real] = inputs.tokens[shown]
        elif (real & ~masked).sum() == shown.sum():
            text[real & ~masked] = inputs.tokens[shown]
        if masked.sum() == counted.sum():
            text[masked] = targets[counted]
        return _Text(text, lengths, masked)

    def audit(self, sample: Sample) -> list[Check]:
        """The number of hidden tokens, what is shown for them, and the order of sentinels."""
        streams, arrays, tokenizer = sample.batch.streams, sample.batch.arrays[self.kind], sample.corpus.tokenizer
        hidden = self._hidden(sample)
        special, hidden = (hidden & ~sample.ordinary & ~sample.inner).any(axis=1), hidden & sample.ordinary
        counts, sizes = hidden.sum(axis=1), sample.sizes
        expected = np.minimum(sizes, np.maximum(1, np.floor(self.mask_prob * sizes + 0.5)))
        fewer = self.selection.fewer
        miscounted = (counts > expected) if fewer else (counts != expected)
        rule = f"{'at most ' * fewer}max(1, floor({self.mask_prob:g} n + 0.5)) a sequence"
        checks = [
            *super().audit(sample),
            always(
                "tokens hidden", rule, miscounted, sample.name, f"{counts.sum() / sizes.sum():.2%} of {sizes.sum():,}"
            ),
            always("specials hidden", "never", special, sample.name, "never"),
            *self.selection.audit(sample, hidden),
        ]
        inputs, (targets, count, _) = streams[INPUTS], self.targets_of(streams, arrays)
        if self.shown == "mask":
            masked = hidden[:, : inputs.tokens.shape[1]]
            other = int((masked & (inputs.tokens != tokenizer.mask)).sum())
            return [*checks, share("hidden, another token shown", other, int(masked.sum()), self.random)]
        ends = np.take_along_axis(hidden, sample.text.lengths[:, None].astype(np.int64) - 2, axis=1)[:, 0]
        runs = _runs(self._hidden(sample))
        wrong = np.zeros(len(runs), dtype=np.bool_)
        expected_marks = {"inputs": runs * (self.shown == "sentinels"), "targets": runs + ~ends}
        if self.target == "text" or self.shown == "dropped":
            expected_marks["targets"] = runs * 0
        for name, (tokens, lengths) in (("inputs", inputs), ("targets", Stream(targets, count))):
            wrong |= _out_of_order(tokens, lengths, tokenizer.sentinels, expected_marks[name])
        return [*checks, always("sentinels", "one a span, in their order", wrong, sample.name)]

    def audit_again(self, sample: Sample, later: Sample) -> list[Check]:
        """Other tokens are hidden in a later epoch."""
        after, first, second = again(sample, later)
        if not len(first):
            return []
        one, other = self._hidden(sample)[first], self._hidden(later)[second]
        width = max(one.shape[1], other.shape[1])
        one, other = (np.pad(flags, ((0, 0), (0, width - flags.shape[1]))) for flags in (one, other))
        return self.selection.audit_again(f"another choice {after}", sample, first, one, other)

    def _hidden(self, sample: Sample) -> Bool:
        """(R, T) the hidden tokens of the text of a sample."""
        masked = self._text(sample.batch.streams, sample.batch.arrays[self.kind]).masked
        width = sample.tokens.shape[1]
        return np.pad(masked, ((0, 0), (0, max(0, width - masked.shape[1]))))[:, :width]


class _Text(NamedTuple):
    tokens: Int32
    lengths: Int32
    masked: Bool


class _Spans(NamedTuple):
    """The hidden tokens of B sequences, and the last [SEP], which counts as a span behind the text: J places each."""

    text: Int32
    """(B, T)."""
    lengths: Int32
    flat: Int64
    """(B, J) the places in the flat text, ascending; any in those that are not used."""
    used: Bool
    hidden: Bool
    """(B, J) those that are used, but for the last [SEP]."""
    begins: Bool
    number: Int32
    """(B, J) the number of the span of each."""

    @classmethod
    def of(cls, sequences: Sequences, choice: Choice) -> _Spans:
        """The spans of the chosen tokens. A [SEP] between two of them is hidden too, or it would cut a span in two."""
        text, beyond = sequences.tokens, np.int32(sequences.tokens.shape[1])
        places = sequences.positions(choice.indices)
        places += (beyond - places) * (1 - choice.valid)
        end = sequences.lengths[:, None] - 1
        if sequences.separator_offsets.shape[1]:
            places = np.append(places, _separators(sequences, places), axis=1)
        places = np.append(places, end, axis=1)
        places.sort(axis=1)
        used = places < beyond
        begins = used.copy()
        begins[:, 1:] &= places[:, 1:] != places[:, :-1] + 1
        number = np.cumsum(begins, axis=1, dtype=np.int32) - 1
        flat = places + np.arange(0, text.size, beyond)[:, None]
        return cls(text, sequences.lengths, flat, used, places < end, begins, number)

    def rest(self, left_out: Bool) -> Bool:
        """(B, T) the tokens of the text without some of the places (B, J)."""
        rest = np.arange(self.text.shape[1], dtype=np.int32) < self.lengths[:, None]
        rest.reshape(-1)[self.flat.take(np.flatnonzero(left_out))] = False
        return rest

    def targets(self, inputs: Stream, width: int, marks: Int32 | None, placed: bool) -> Split:
        """The spans as targets in `width` columns, behind sentinels if there are `marks`; if they are `placed`, with
        their places in the text."""
        slots = np.arange(0, len(self.text) * width, width)[:, None] + np.arange(self.used.shape[1])
        lengths = self.used.sum(axis=1, dtype=np.int32)
        tokens = np.zeros((len(self.text), width), dtype=np.int32)
        counted = np.zeros(tokens.shape, dtype=np.bool_)
        if marks is not None:
            slots += self.number + 1
            lengths += self.begins.sum(axis=1, dtype=np.int32)
            first = np.flatnonzero(self.begins)
            tokens.reshape(-1)[slots.take(first) - 1] = marks.take(self.number.take(first))
        used = np.flatnonzero(self.used)
        slots, flat = slots.take(used), self.flat.take(used)
        tokens.reshape(-1)[slots] = self.text.take(flat)
        counted.reshape(-1)[slots] = self.hidden.take(used)
        if not placed:
            return Split(inputs, Stream(tokens, lengths), counted)
        places = np.zeros_like(tokens)
        places.reshape(-1)[slots] = flat % self.text.shape[1]
        return Split(inputs, Stream(tokens, lengths), counted, places)


def _separators(sequences: Sequences, places: Int32) -> Int32:
    """(B, N) the positions of inner [SEP] between two tokens of the `places` (B, K); T for others."""
    tokens = sequences.tokens
    hidden = np.zeros((len(tokens), tokens.shape[1] + 1), dtype=np.bool_)
    np.put_along_axis(hidden, places.astype(np.int64), True, axis=1)
    numbers = np.arange(1, sequences.separator_offsets.shape[1] + 1, dtype=np.int32)
    inner = sequences.separator_offsets + numbers
    rows = np.arange(len(tokens))[:, None]
    between = (inner < sequences.lengths[:, None] - 1) & hidden[rows, inner - 1]
    between &= hidden[rows, (inner + 1).clip(max=tokens.shape[1] - 1)]
    return np.where(between, inner, np.int32(tokens.shape[1]))


def _replaced(sequences: Sequences, choice: Choice, keys: UInt64, replace: Callable[..., Array]) -> Int32:
    """The text with what is shown for the chosen tokens, (B, T)."""
    tokens = sequences.tokens.copy()
    flat = sequences.positions(choice.indices) * choice.valid + np.arange(0, tokens.size, tokens.shape[1])[:, None]
    tokens.reshape(-1)[flat] = replace(tokens.take(flat), keys, choice)
    tokens[:, 0] = sequences.tokens[:, 0]  # where empty slots point
    return tokens


def _put_back(inputs: Stream, targets: Int32, count: Int32, counted: Bool) -> _Text:
    """The text of R sequences: each token of the inputs in its order, and behind that which equals the sentinel of a
    span the tokens of that span, in place of the sentinel."""
    slots, column = np.arange(targets.shape[1]), np.arange(inputs.tokens.shape[1])
    marks = (slots < count[:, None] - 1) & ~counted
    ids = np.unique(targets[marks])
    at = np.zeros((len(targets), len(ids) + 1), dtype=np.int64)
    rows, columns = np.nonzero(np.isin(inputs.tokens, ids))
    at[rows, np.searchsorted(ids, inputs.tokens[rows, columns])] = columns
    mark = np.maximum.accumulate(np.where(marks, slots, 0), axis=1)
    number = np.searchsorted(ids, np.take_along_axis(targets, mark, axis=1))
    width = len(slots) + 1
    of_targets = np.take_along_axis(at, number, axis=1) * width + 1 + slots
    shown = (column < inputs.lengths[:, None]) & ~np.isin(inputs.tokens, ids)
    values, used = np.hstack([inputs.tokens, targets]), np.hstack([shown, counted])
    order = np.where(
        used, np.hstack([np.broadcast_to(column * width, shown.shape), of_targets]), np.iinfo(np.int64).max
    )
    order = np.argsort(order, axis=1, kind="stable")[:, : int(used.sum(axis=1).max())]
    lengths = used.sum(axis=1, dtype=np.int32)
    real = np.arange(order.shape[1]) < lengths[:, None]
    masked = (order >= len(column)) & real
    return _Text(np.take_along_axis(values, order, axis=1) * real, lengths, masked)


def _runs(hidden: Bool) -> Int64:
    """(R,) the runs of hidden tokens in each sequence."""
    return np.asarray((hidden & ~np.pad(hidden, ((0, 0), (1, 0)))[:, :-1]).sum(axis=1))


def _out_of_order(tokens: Int32, lengths: Int32, sentinels: Int32, counts: Int64) -> Bool:
    """(R,) whether the sentinels of a sequence are not the first `counts` (R,) ones, in their order."""
    marks = np.isin(tokens, sentinels) & (np.arange(tokens.shape[1]) < lengths[:, None])
    number = np.cumsum(marks, axis=1) - 1
    expected = sentinels.take(number, mode="clip") if len(sentinels) else tokens
    return np.asarray((marks & (tokens != expected)).any(axis=1) | (marks.sum(axis=1) != counts))
