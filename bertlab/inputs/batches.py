"""Batch number s of a recipe, as a pure function: of the recipe, the corpus and s, and of nothing else.

Sequences, their pairs and their order depend on the corpus, the inputs and the seed; what is predicted on top of them.
So recipes that differ in masking, objective, model or optimiser see the same rows in the same order.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bertlab import keyed
from bertlab import recipe as recipes
from bertlab.errors import BadInput
from bertlab.inputs.collator import Batch, Collator, Numbers, Tokenizer, joined
from bertlab.inputs.formats import Rows, Text, layout, segment_pairs, single_segments
from bertlab.recipe import Loss
from bertlab.recipe.cost import phases, tokens
from bertlab.recipe.objective import pairing

_KEPT_ROWS = 8_000_000
"""Rows of layouts that are kept at hand (about 34 bytes each); others are laid out again when they are needed."""
_TOGETHER = 1 << 18
"""Tokens that are made at once where batches are asked for in order: what a call of NumPy costs is shared by them."""
FEWEST = 8
"""Documents that are used at least, however few a number of passes takes."""
_FIXED = "evaluation"
"""Takes the place of the seed where rows and masks are the same for every recipe."""


class Corpus(Protocol):
    """A tokenised corpus, such as `bertlab.text.tokens` opens."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer whose ids the tokens are."""

    @property
    def train(self) -> Text:
        """What is trained on."""

    @property
    def heldout(self) -> Text:
        """What is set apart for evaluation."""


class Batches:
    """The training batches of a recipe."""

    def __init__(self, recipe: recipes.Recipe, corpus: Corpus, *, trimmed: bool = True) -> None:
        """Without `trimmed`, batches keep the columns and slots that all their rows leave empty: one shape for all."""
        lengths = phases(recipe)
        text = beginning(recipe, corpus.train)
        self._main = _Passes(recipe, corpus.tokenizer, text, lengths[0][0], trimmed)
        self._final = _Passes(recipe, corpus.tokenizer, text, lengths[1][0], trimmed) if lengths[1:] else None
        self._final_from = lengths[0][1]

    def batch(self, step: int) -> Batch:
        """Batch number `step` (from 0), all devices together; the last steps may be of another length."""
        if self._final and step >= self._final_from:
            return self._final.batch(step - self._final_from)
        return self._main.batch(step)

    def rows_in(self, copy: int) -> int:
        """Rows in the passes over the data whose number is `copy` modulo `inputs.dupe_factor`."""
        return self._main.size(copy % self._main.copies).rows

    def tokens(self, steps: int) -> int:
        """Tokens in the first `steps` batches, specials included and padding not."""
        if self._final and steps > self._final_from:
            return self._main.tokens(self._final_from) + self._final.tokens(steps - self._final_from)
        return self._main.tokens(steps)


@dataclass(frozen=True)
class Beginning:
    """The first documents of a text."""

    tokens: npt.NDArray[Any]
    sentences: Numbers
    documents: Numbers


def beginning(recipe: recipes.Recipe, text: Text) -> Text:
    """As many of the first documents as the steps of a recipe pass over `inputs.epochs` times; all if that is 0.

    At least `FEWEST` documents, so that a random next sentence has others to come from. Raises `BadInput` for a text
    that is too short.
    """
    passes, schedule = recipe.inputs.epochs, recipe.schedule
    if not passes:
        return text
    length, _ = phases(recipe)[0]
    most = first(text, tokens(recipe) // passes)  # a row has at most its length of the text
    rows = layout(recipe.inputs, most, length=length, copy=0, seed=recipe.seed, pairing=recipe.pairing)
    wanted = schedule.steps * schedule.batch_size / passes
    if len(rows) < wanted and len(most.tokens) == len(text.tokens):
        raise BadInput(
            f"inputs.epochs is {passes}: that takes {wanted:,.0f} sequences of text, and the corpus has {len(rows):,}: "
            "give more text, fewer steps or more passes"
        )
    return first(text, int(rows.starts[min(int(wanted), len(rows) - 1)]))


def first(text: Text, size: int) -> Text:
    """The first documents of a text that hold `size` tokens, views of it."""
    ends = np.asarray(text.sentences)[np.asarray(text.documents[1:])]
    count = min(max(FEWEST, int(np.searchsorted(ends, size)) + 1), len(ends))
    documents = np.asarray(text.documents[: count + 1])
    return Beginning(text.tokens[: ends[count - 1]], np.asarray(text.sentences[: documents[-1] + 1]), documents)


class _Passes:
    """Endless passes over the training text in rows of one length, numbered from 0, and batches of them.

    A row weighs 1 or, in a format whose batches are counted by tokens, its tokens. The rows of all passes stand behind
    each other; a batch is those that begin within its share of the weight, so that none before it has to be made.
    """

    def __init__(self, recipe: recipes.Recipe, tokenizer: Tokenizer, text: Text, length: int, trimmed: bool) -> None:
        self._trimmed = trimmed and recipe.inputs.format != "segment-pair"
        self._inputs, self._seed, self._length = recipe.inputs, recipe.seed, length
        self._pairing = recipe.pairing
        self.copies = (
            recipe.inputs.dupe_factor if recipe.inputs.pairs else 1
        )  # where no pair is drawn all passes are alike
        self._text = text
        self._collator = Collator(recipe.objective, tokenizer, text, length, recipe.seed)
        self._sizes: dict[int, _Size] = {}
        self._layouts: OrderedDict[int, Rows] = OrderedDict()
        self._orders: OrderedDict[int, _Order] = OrderedDict()
        self._made: dict[int, Batch] = {}
        self._until, self._run = -1, 1
        self._weight = recipe.schedule.batch_size
        self._together = max(1, _TOGETHER // (self._weight * length))
        if recipe.inputs.token_matched_to:
            other = dataclasses.replace(recipe.inputs, format=recipe.inputs.token_matched_to)
            mean = layout(other, text, length=length, copy=0, seed=recipe.seed).lengths.mean()
            self._weight = max(length, round(self._weight * mean))  # no batch is empty

    def size(self, copy: int) -> _Size:
        """The passes with this copy of the pairs."""
        if copy not in self._sizes:
            self._layout(copy)
        return self._sizes[copy]

    def tokens(self, steps: int) -> int:
        """Tokens in the first `steps` batches, specials included, padding not."""
        epoch, within = self._locate(steps * self._weight)
        rounds, rest = divmod(epoch, self.copies)
        passed = sum(self.size(copy).tokens * (rounds + (copy < rest)) for copy in range(min(epoch, self.copies)))
        chosen, _ = self._order(epoch).between(0, within)
        return passed + int(self._layout(epoch % self.copies).lengths.take(chosen).sum())

    def batch(self, step: int) -> Batch:
        """The rows that begin within [step, step + 1) weights of a batch, counted over all passes."""
        if step not in self._made:
            # Twice as many each time that the next is asked for, so that the first one comes soon.
            self._run = min(2 * self._run, self._together) if step == self._until else 1
            self._until = step + self._run
            self._made = dict(enumerate(self._steps(step, self._until), start=step))
        return self._made.pop(step)  # the caller's own: asked for again it is made anew

    def _steps(self, first: int, last: int) -> Iterator[Batch]:
        """The batches [first, last), which share no number."""
        rows, begins = self._rows(first * self._weight, last * self._weight)
        cuts = np.searchsorted(begins, np.arange(first, last + 1) * self._weight)
        for low, high in itertools.pairwise(cuts):
            part = rows.take(low, high)
            yield part.trimmed() if self._trimmed else part

    def _rows(self, low: int, high: int) -> tuple[Batch, Numbers]:
        """The rows that begin within [low, high), and where they do."""
        parts: list[Batch] = []
        begins: list[Numbers] = []
        while low < high:
            epoch, within = self._locate(low)
            copy = epoch % self.copies
            until = min(within + high - low, self.size(copy).weight)
            chosen, found = self._order(epoch).between(within, until)
            if len(chosen):
                parts.append(self._collator.collate(self._layout(copy), chosen, copy, epoch))
                begins.append(found + (low - within))
            low += until - within
        return parts[0] if len(parts) == 1 else joined(parts), np.concatenate(begins)

    def _locate(self, weight: int) -> tuple[int, int]:
        """The pass that holds the `weight` counted over all passes, and how far in that pass it is."""
        epoch = 0
        while weight >= (size := self.size(epoch % self.copies).weight):
            weight -= size
            epoch += 1
            if epoch == self.copies:  # every size is known: skip whole rounds
                rounds, weight = divmod(weight, sum(each.weight for each in self._sizes.values()))
                epoch += rounds * self.copies
        return epoch, weight

    def _layout(self, copy: int) -> Rows:
        if copy not in self._layouts:
            rows = layout(
                self._inputs, self._text, length=self._length, copy=copy, seed=self._seed, pairing=self._pairing
            )
            if copy not in self._sizes:
                tokens = int(rows.lengths.sum())
                self._sizes[copy] = _Size(len(rows), tokens, tokens if self._inputs.token_matched_to else len(rows))
            self._layouts[copy] = rows
            while len(self._layouts) > 1 and sum(map(len, self._layouts.values())) > _KEPT_ROWS:
                self._layouts.popitem(last=False)
        self._layouts.move_to_end(copy)
        return self._layouts[copy]

    def _order(self, epoch: int) -> _Order:
        if epoch not in self._orders:
            copy = epoch % self.copies
            rows = keyed.permutation(keyed.key(self._seed, "order", epoch), self.size(copy).rows)
            begins = None
            if self._inputs.token_matched_to:
                lengths = self._layout(copy).lengths.take(rows)
                begins = np.cumsum(lengths, dtype=np.int64) - lengths
            self._orders[epoch] = _Order(rows, begins)
            if len(self._orders) > 2:
                self._orders.popitem(last=False)
        return self._orders[epoch]


@dataclass(frozen=True)
class _Size:
    """What is in one pass."""

    rows: int
    tokens: int
    weight: int


@dataclass(frozen=True)
class _Order:
    """The rows of a pass in the order in which they are seen."""

    rows: Numbers
    begins: Numbers | None
    """The weight before each row, (R,); None where each row weighs 1."""

    def between(self, low: int, high: int) -> tuple[Numbers, Numbers]:
        """The rows that begin within [low, high) of the pass's weight, and where they do."""
        if self.begins is None:
            return self.rows[low:high], np.arange(low, high)
        first, last = np.searchsorted(self.begins, [low, high])
        return self.rows[first:last], self.begins[first:last]


@dataclass(frozen=True)
class Evaluation:
    """A fixed evaluation on held-out text."""

    batches: Sequence[Batch]
    names: tuple[str, ...]
    """What is added over the batches."""
    sums: Callable[[Any, Any], Mapping[str, Any]]
    """The part of one batch in it, by name, from a model and the batch on its device."""
    figures: Callable[[Mapping[str, float]], dict[str, float]]
    """The figures, from the sums over all batches."""


def heldout(
    recipe: recipes.Recipe, corpus: Corpus, objective: Sequence[Loss], size: int, together: int = 64
) -> list[Batch]:
    """At most `size` single segments of the held-out documents, with what `objective` adds, `together` in a batch.

    They depend on the corpus and `inputs.length` alone.
    """
    if len(corpus.heldout.documents) < 2:
        raise BadInput("no document is held out for evaluation: give more documents or raise corpus.heldout")
    rows = single_segments(corpus.heldout, length=recipe.inputs.length)
    return _evaluation(rows, objective, recipe, corpus, size, together)


def heldout_pairs(
    recipe: recipes.Recipe, corpus: Corpus, objective: Sequence[Loss], size: int, together: int = 64
) -> list[Batch]:
    """The same of segment pairs, paired as `objective` needs it. Empty if a single document is held out."""
    if len(corpus.heldout.documents) < 3:
        return []
    pairs = segment_pairs(
        corpus.heldout, length=recipe.inputs.length, short=0.0, copy=0, seed=_FIXED, pairing=pairing(objective)
    )
    return _evaluation(pairs, objective, recipe, corpus, size, together)


def _evaluation(
    rows: Rows, objective: Sequence[Loss], recipe: recipes.Recipe, corpus: Corpus, size: int, together: int
) -> list[Batch]:
    collator = Collator(objective, corpus.tokenizer, corpus.heldout, recipe.inputs.length, _FIXED)
    order = keyed.permutation(keyed.key(_FIXED, "order"), len(rows))[:size]
    return [collator.collate(rows, order[low : low + together], 0, 0) for low in range(0, len(order), together)]
