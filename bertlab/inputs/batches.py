"""Batch number s of a recipe: a pure function of the recipe, the corpus and s. Sequences, their pairs and their order
depend on the corpus, the inputs and the seed alone, and not on masking, objective, model or optimiser."""

import bisect
import functools
import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertlab import keyed
from bertlab.arrays import Int64
from bertlab.errors import BadInput
from bertlab.inputs.collator import Collator
from bertlab.inputs.formats import Layout, segment_pairs, single_segments
from bertlab.inputs.mixing import Mixture
from bertlab.inputs.streams import Batch, joined
from bertlab.recipe import Inputs, Loss, Recipe
from bertlab.recipe.cost import tokens
from bertlab.recipe.objective import pairing, text_length
from bertlab.text.tokens import Part, TokenisedCorpus, by_hash, share_of, some_corpora

_KEPT = 1 << 30
"""Tokens of text whose layouts stay in memory (about 34 bytes a sequence); others are computed again when needed."""
_TOGETHER = 1 << 18
"""Tokens of consecutive batches that are made at once: they share the cost of each call of NumPy."""
FEWEST = 8
"""Documents that are used at least, so that a random next sentence has others to come from."""
ENOUGH = 0.9
"""The share of `inputs.epochs` that counts as all of its passes: documents are read whole."""
EVALUATION_SEQUENCES = 1024
"""Held-out sequences that a final evaluation reads; those during a training read a quarter of them."""
_FIXED = "evaluation"
"""Replaces the seed where sequences and masks are the same for every recipe."""


class Batches:
    """The training batches of a recipe."""

    def __init__(self, recipe: Recipe, corpus: TokenisedCorpus, *, trimmed: bool = True) -> None:
        """Unless they are `trimmed`, batches keep the columns and slots that all sequences leave empty: one shape."""
        text = training_text(recipe, corpus.train)
        self._begins: list[int] = []
        self._stages: list[_Stage] = []
        readings: list[tuple[Inputs, _Reading]] = []
        step = 0
        for stage, steps in recipe.stages:
            reading = next((reading for inputs, reading in readings if inputs == stage.inputs), None)
            if reading is None:
                reading = _Reading(stage, text)
                readings.append((stage.inputs, reading))
            self._begins.append(step)
            mixture = Mixture(stage, corpus, step) if recipe.multitask.tasks else None
            self._stages.append(_Stage(stage, corpus, text, reading, mixture, trimmed))
            reading.weight += steps * self._stages[-1].weight
            step += steps

    def _stage(self, step: int) -> tuple["_Stage", int]:
        """The stage of batch number `step`, and its number within; the last stage has those after the last step."""
        number = bisect.bisect(self._begins, step) - 1
        return self._stages[number], step - self._begins[number]

    def batch(self, step: int) -> Batch:
        """Batch number `step` (from 0) for all devices together; numbers of the recipe may change over the steps."""
        stage, number = self._stage(step)
        return stage.batch(number)

    def sequences_in(self, epoch: int) -> int:
        """The number of sequences in an epoch of the first steps."""
        return len(self._stages[0].reading.layout(epoch))

    def tokens(self, steps: int) -> int:
        """Tokens in the first `steps` batches, specials included, padding not."""
        last, within = self._stage(steps)
        ends = [*self._begins[1:], sys.maxsize]
        whole = [
            stage.tokens(end - begin)
            for stage, begin, end in zip(self._stages, self._begins, ends, strict=True)
            if stage is not last and begin < steps
        ]
        return sum(whole) + last.tokens(within)


def training_text(recipe: Recipe, text: Part) -> Part:
    """The documents that a recipe trains on: a share of those of its corpora, of these about as many as its steps pass
    over `inputs.epochs` times, by a hash of each, but at least `FEWEST`. Raises `BadInput` for too short a text."""
    text, epochs = some_corpora(text, recipe.inputs.corpora), recipe.inputs.epochs
    text = share_of(text, recipe.inputs.document_share, FEWEST)
    if not epochs:
        return text
    share = min(1.0, tokens(recipe) / epochs / max(1, len(text.tokens)))  # if each token of a text is read once
    order = by_hash(text)
    for _ in range(2):
        part = share_of(text, share, FEWEST, order)
        passes = sum(steps * share_of_text for steps, share_of_text in paces(recipe, part))
        share = (len(part.documents) - 1) / (len(text.documents) - 1) * passes / epochs
        if share > 1 and part is text:
            raise BadInput(
                f"inputs.epochs is {epochs}: that takes {share:.1f} times the text of the corpus: give more text, "
                "fewer steps or more epochs"
            )
        share = min(1.0, share)
    return share_of(text, share, FEWEST, order)


def fewer_passes(recipe: Recipe, text: Part) -> tuple[int, int] | None:
    """`inputs.epochs` of a recipe and the passes that its steps make over its documents, if these are a tenth fewer.

    That is so where the `FEWEST` documents are long. None for enough passes, and without `inputs.epochs`.
    """
    epochs = recipe.inputs.epochs
    passes = sum(steps * share for steps, share in paces(recipe, training_text(recipe, text))) if epochs else 0
    return (epochs, round(passes)) if passes < ENOUGH * epochs else None


def paces(recipe: Recipe, text: Part) -> list[tuple[int, float]]:
    """The steps of each stage of a recipe, and the share of a text that a step of it reads."""
    shares: list[tuple[int, float]] = []
    sizes: dict[tuple[Inputs, int], int] = {}
    for stage, steps in recipe.stages:
        length, form = text_length(stage.objective, stage.inputs.length), stage.inputs.format
        if (stage.inputs, length) not in sizes:
            layout = form.lay_out(text, stage, length, 0)
            sizes[stage.inputs, length] = int(layout.lengths.sum()) if form.token_matched_to else len(layout)
        shares.append((steps, _weight(stage, text, length) / sizes[stage.inputs, length]))
    return shares


def _weight(recipe: Recipe, text: Part, length: int) -> int:
    """The weight of a batch: its number of sequences, or, if batches are counted by tokens, the mean number of tokens
    of as many sequences of the format that they are matched to."""
    size, matched = recipe.schedule.batch_size, recipe.inputs.format.token_matched_to
    if not matched:
        return size
    mean = float(matched.lay_out(text, recipe, length, 0).lengths.mean())
    return max(length, round(size * mean))  # no batch is empty


class _Reading:
    """Endless epochs over the training text in sequences of one length. A sequence weighs 1, or its tokens if batches
    are counted by tokens."""

    def __init__(self, recipe: Recipe, text: Part) -> None:
        form, of_text = recipe.inputs.format, text_length(recipe.objective, recipe.inputs.length)
        self.weight = 0
        """The weight of what stages before have read."""
        self.seed, self.copies, self.matched = recipe.seed, recipe.inputs.copies, form.token_matched_to
        make: Callable[[int], Layout] = functools.partial(form.lay_out, text, recipe, of_text)
        self._layout = functools.lru_cache(max(1, _KEPT // len(text.tokens)))(make)
        self.sizes = functools.cache(self._measure)
        self._order = functools.lru_cache(2)(self._draw_order)

    def layout(self, epoch: int) -> Layout:
        """The sequences of an epoch, in the order of the text."""
        return self._layout(epoch % self.copies)

    def tokens(self, weight: int) -> int:
        """Tokens in the sequences that begin within this weight, specials included."""
        epoch, within = self.locate(weight)
        whole = sum(self.sizes(number % self.copies)[0] for number in range(epoch))
        chosen, _ = self.between(epoch, 0, within)
        return whole + int(self.layout(epoch).lengths.take(chosen).sum())

    def locate(self, weight: int) -> tuple[int, int]:
        """The epoch that holds the `weight` counted over all epochs, and the weight before it in that epoch."""
        epoch = 0
        while weight >= (size := self.sizes(epoch % self.copies)[1]):
            weight -= size
            epoch += 1
            if epoch == self.copies:  # every size is known: skip whole rounds
                rounds, weight = divmod(weight, sum(self.sizes(copy)[1] for copy in range(self.copies)))
                epoch += rounds * self.copies
        return epoch, weight

    def between(self, epoch: int, low: int, high: int) -> tuple[Int64, Int64]:
        """The sequences that begin within [low, high) of the weight of an epoch, and where they begin."""
        numbers, begins = self._order(epoch)
        first, last = np.searchsorted(begins, [low, high])
        return numbers[first:last], begins[first:last]

    def _measure(self, copy: int) -> tuple[int, int]:
        """Tokens and weight of an epoch with this copy of the pairs."""
        layout = self._layout(copy)
        tokens = int(layout.lengths.sum())
        return tokens, tokens if self.matched else len(layout)

    def _draw_order(self, epoch: int) -> tuple[Int64, Int64]:
        """The sequences of an epoch in the order of training, and the weight before each, (N,)."""
        layout = self.layout(epoch)
        numbers = keyed.permutation(keyed.key(self.seed, "order", epoch), len(layout))
        if not self.matched:
            return numbers, np.arange(len(layout))
        lengths = layout.lengths.take(numbers)
        return numbers, np.cumsum(lengths, dtype=np.int64) - lengths


class _Stage:
    """The batches of one stage: a batch has the sequences that begin within its share of the weight."""

    def __init__(
        self,
        recipe: Recipe,
        corpus: TokenisedCorpus,
        text: Part,
        reading: _Reading,
        mixture: Mixture | None,
        trimmed: bool,
    ) -> None:
        of_text = text_length(recipe.objective, recipe.inputs.length)
        self.reading, self._begin = reading, reading.weight
        self.weight = _weight(recipe, text, of_text)
        self._mixture = mixture
        self._trimmed = trimmed and (recipe.inputs.format.trimmed or mixture is not None)
        parts = recipe.objective, corpus.tokenizer, text, recipe.inputs.length, recipe.seed
        self._collator = functools.cache(lambda: Collator(*parts))
        self._made: dict[int, Batch] = {}
        self._until, self._run = -1, 1
        self._together = max(1, _TOGETHER // (recipe.schedule.batch_size * of_text))

    def tokens(self, steps: int) -> int:
        """Tokens in its first `steps` batches, specials included, padding not."""
        if self._mixture:
            read, of_tasks = int(self._mixture.before(steps)[0]), self._mixture.tokens(steps)
        else:
            read, of_tasks = steps * self.weight, 0
        return self.reading.tokens(self._begin + read) - self.reading.tokens(self._begin) + of_tasks

    def batch(self, step: int) -> Batch:
        """The sequences that begin within [step, step + 1) times the weight of a batch, over all epochs."""
        if step not in self._made:
            # Twice as many each time that the next one follows, so that the first one comes soon.
            self._run = min(2 * self._run, self._together) if step == self._until else 1
            self._until = step + self._run
            parts = self._batches(step, self._until)
            self._made = dict(enumerate([part.trimmed() for part in parts] if self._trimmed else parts, start=step))
        return self._made.pop(step)  # the caller may change it; a second call makes it anew

    def _batches(self, step: int, until: int) -> list[Batch]:
        """The batches from `step` to the one before `until`."""
        if self._mixture:
            begin = self._begin
            return self._mixture.mixed(step, until, lambda low, high: self._between(begin + low, begin + high)[0])
        sequences, begins = self._between(self._begin + step * self.weight, self._begin + until * self.weight)
        limits = self._begin + np.arange(step, until + 1) * self.weight
        bounds = itertools.pairwise(np.searchsorted(begins, limits))
        return [sequences.rows(slice(low, high)) for low, high in bounds]

    def _between(self, low: int, high: int) -> tuple[Batch, Int64]:
        """The sequences that begin within [low, high) of the weight over all epochs, and where they begin."""
        reading = self.reading
        batches: list[Batch] = []
        begins: list[Int64] = []
        while low < high:
            epoch, within = reading.locate(low)
            copy = epoch % reading.copies
            until = min(within + high - low, reading.sizes(copy)[1])
            chosen, places = reading.between(epoch, within, until)
            if len(chosen):
                batches.append(self._collator().collate(reading.layout(epoch), chosen, copy, epoch))
                begins.append(places + (low - within))
            low += until - within
        return batches[0] if len(batches) == 1 else joined(batches), np.concatenate(begins)


@dataclass(frozen=True)
class Evaluation:
    """A fixed evaluation on held-out text."""

    batches: Sequence[Batch]
    """Held-out sequences with the inputs and labels of the losses; they are drawn once."""
    names: tuple[str, ...]
    """The keys of what `sums` returns, known before it runs: processes add them up."""
    sums: Callable[[Any, Any], Mapping[str, Any]]
    """Maps a model and a batch on its device to the sums over the batch, by their `names`."""
    metrics: Callable[[Mapping[str, float]], dict[str, float]]
    """Maps the sums over all batches to the metrics."""


def heldout(
    recipe: Recipe, corpus: TokenisedCorpus, objective: Sequence[Loss], size: int, together: int = 64
) -> list[Batch]:
    """Cuts at most `size` single segments from the held-out documents, `together` in a batch. They depend on the corpus
    and `inputs.length` alone, but for what `objective` adds."""
    if len(corpus.heldout.documents) < 2:
        raise BadInput("no document is held out for evaluation: give more documents or raise corpus.heldout")
    layout = single_segments(corpus.heldout, length=text_length(objective, recipe.inputs.length))
    return _evaluation(layout, objective, recipe, corpus, size, together)


def heldout_pairs(recipe: Recipe, corpus: TokenisedCorpus, objective: Sequence[Loss], size: int) -> list[Batch]:
    """Cuts at most `size` segment pairs, paired as `objective` needs it; none if only one document is held out."""
    if len(corpus.heldout.documents) < 3:
        return []
    length, paired = text_length(objective, recipe.inputs.length), pairing(objective)
    layout = segment_pairs(corpus.heldout, length=length, short=0.0, copy=0, seed=_FIXED, pairing=paired)
    return _evaluation(layout, objective, recipe, corpus, size, together=64)


def _evaluation(
    layout: Layout, objective: Sequence[Loss], recipe: Recipe, corpus: TokenisedCorpus, size: int, together: int
) -> list[Batch]:
    collator = Collator(objective, corpus.tokenizer, corpus.heldout, recipe.inputs.length, _FIXED, divided=False)
    order = keyed.permutation(keyed.key(_FIXED, "order"), len(layout))[:size]
    return [collator.collate(layout, order[low : low + together], 0, 0) for low in range(0, len(order), together)]
