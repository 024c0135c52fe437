"""Batch number s of a recipe, as a pure function: of the recipe, the corpus and s, and of nothing else.

Sequences, their pairs and their order depend on the corpus, the inputs and the seed; masks on top of them. So recipes
that differ in masking, model or optimiser see the same rows in the same order.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bertlab import recipe as recipes
from bertlab.cost import phases
from bertlab.errors import BadInput
from bertlab.inputs import keyed
from bertlab.inputs.formats import Rows, Text, segment_pairs, single_segments
from bertlab.inputs.masking import Masks, Vocabulary

Numbers = npt.NDArray[np.int64]
Integers = npt.NDArray[np.int32]

_KEPT_ROWS = 8_000_000
"""Rows of layouts that are kept at hand (about 33 bytes each); others are laid out again when they are needed."""
_TOGETHER = 256
"""Rows that are made at once, where a batch has fewer: making 32 takes a third of the time of 256."""
_EVALUATION_BATCH = 64
"""Sequences in a batch of the fixed evaluation, the same on every machine."""
_FIXED = "evaluation"
"""Takes the place of the seed where rows and masks are the same for every recipe."""


class Tokenizer(Vocabulary, Protocol):
    """What batches need to know of a tokenizer."""

    @property
    def pad(self) -> int:
        """The id of [PAD]."""

    @property
    def cls(self) -> int:
        """The id of [CLS]."""

    @property
    def sep(self) -> int:
        """The id of [SEP]."""


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


@dataclass(frozen=True)
class Batch:
    """B rows of T tokens with K prediction slots each."""

    tokens: Integers
    """(B, T) ids as shown to the encoder; [PAD] beyond a row's length."""
    segments: Integers
    """(B, T) 0 for the first segment with its specials, 1 for the second, 0 for padding."""
    lengths: Integers
    """(B,) tokens that are not padding."""
    positions: Integers
    """(B, K) positions of the predicted tokens; 0 where the weight is 0."""
    targets: Integers
    """(B, K) ids to predict there; 0 where the weight is 0."""
    weights: npt.NDArray[np.float32]
    """(B, K) 1 for a predicted token, 0 for an empty slot."""
    next_sentence: Integers
    """(B,) 0 if the second segment follows the first, 1 if it is random, as in BERT."""
    rows: Numbers
    """(B,) stable names of the rows: the same name means the same tokens before masking."""
    epochs: Numbers
    """(B,) pass over the data in which each row is."""

    def take(self, low: int, high: int) -> Batch:
        """The rows from `low` up to `high`."""
        return Batch(**{each.name: getattr(self, each.name)[low:high] for each in dataclasses.fields(self)})


class Batches:
    """The training batches of a recipe."""

    def __init__(self, recipe: recipes.Recipe, corpus: Corpus) -> None:
        lengths = phases(recipe)
        self._main = _Passes(recipe, corpus, lengths[0][0])
        self._final = _Passes(recipe, corpus, lengths[1][0]) if lengths[1:] else None
        self._final_from = lengths[0][1]

    def batch(self, step: int) -> Batch:
        """Batch number `step` (from 0), all devices together; the last steps may be of another length."""
        if self._final and step >= self._final_from:
            return self._final.batch(step - self._final_from)
        return self._main.batch(step)

    def rows_in(self, copy: int) -> int:
        """Rows in the passes over the data whose number is `copy` modulo `inputs.copies`."""
        return self._main.rows_in(copy % self._main.copies)


class _Passes:
    """Endless passes over the training text in rows of one length, numbered from 0, and batches of them."""

    def __init__(self, recipe: recipes.Recipe, corpus: Corpus, length: int) -> None:
        self.copies = recipe.inputs.copies
        self._batch = recipe.schedule.batch
        self._short = recipe.inputs.short
        self._length = length
        self._seed = recipe.seed
        self._text = corpus.train
        self._collator = Collator(recipe.masking, corpus.tokenizer, corpus.train, length, recipe.seed)
        self._sizes: dict[int, int] = {}
        self._layouts: OrderedDict[int, Rows] = OrderedDict()
        self._orders: OrderedDict[int, Numbers] = OrderedDict()
        self._block: tuple[int, Batch] | None = None

    def rows_in(self, copy: int) -> int:
        if copy not in self._sizes:
            self._layout(copy)
        return self._sizes[copy]

    def batch(self, step: int) -> Batch:
        """The rows from number `step` times the batch on, counted over all passes."""
        together = max(1, _TOGETHER // self._batch)
        if together == 1:
            return self._rows(step * self._batch, self._batch)
        number, within = divmod(step, together)
        if self._block is None or self._block[0] != number:
            self._block = number, self._rows(number * together * self._batch, together * self._batch)
        part = self._block[1].take(within * self._batch, (within + 1) * self._batch)
        return Batch(**{name: array.copy() for name, array in vars(part).items()})  # the caller's own

    def _rows(self, row: int, size: int) -> Batch:
        parts: list[Batch] = []
        while size:
            epoch, within = self._locate(row)
            copy = epoch % self.copies
            chosen = self._order(epoch)[within : within + size]
            parts.append(self._collator.collate(self._layout(copy), chosen, copy, epoch))
            row += len(chosen)
            size -= len(chosen)
        return parts[0] if len(parts) == 1 else joined(parts)

    def _locate(self, row: int) -> tuple[int, int]:
        """The pass that holds row number `row`, and its number in that pass."""
        epoch = 0
        while row >= (size := self.rows_in(epoch % self.copies)):
            row -= size
            epoch += 1
            if epoch == self.copies:  # every size is known: skip whole rounds
                rounds, row = divmod(row, sum(self._sizes.values()))
                epoch += rounds * self.copies
        return epoch, row

    def _layout(self, copy: int) -> Rows:
        if copy not in self._layouts:
            rows = segment_pairs(self._text, length=self._length, short=self._short, copy=copy, seed=self._seed)
            self._sizes[copy] = len(rows)
            self._layouts[copy] = rows
            while len(self._layouts) > 1 and sum(map(len, self._layouts.values())) > _KEPT_ROWS:
                self._layouts.popitem(last=False)
        self._layouts.move_to_end(copy)
        return self._layouts[copy]

    def _order(self, epoch: int) -> Numbers:
        if epoch not in self._orders:
            size = self.rows_in(epoch % self.copies)
            self._orders[epoch] = keyed.permutation(keyed.key(self._seed, "order", epoch), size)
            if len(self._orders) > 2:
                self._orders.popitem(last=False)
        return self._orders[epoch]


class Collator:
    """Makes batches of T = `length` tokens a row out of rows' places in a text."""

    def __init__(
        self, masking: recipes.Masking, tokenizer: Tokenizer, text: Text, length: int, seed: int | str
    ) -> None:
        self._masks = Masks(masking, tokenizer, length, seed)
        self._tokens = np.asarray(text.tokens)
        self._columns = np.arange(length, dtype=np.int16)
        self._last = len(self._tokens) - length
        self._views = np.lib.stride_tricks.sliding_window_view(self._tokens, length) if self._last >= 0 else None
        self._pad, self._cls, self._sep = tokenizer.pad, tokenizer.cls, tokenizer.sep

    def collate(self, rows: Rows, chosen: Numbers, copy: int, epoch: int) -> Batch:
        """The rows number `chosen` (B,) of `rows`, which is pass `copy`, as seen in pass `epoch`."""
        first, first_length = rows.first.take(chosen), rows.first_length.take(chosen)
        second, second_length = rows.second.take(chosen), rows.second_length.take(chosen)
        ordinary = first_length + second_length
        inner = first_length + 1  # column of the [SEP] that ends the first segment
        lengths = ordinary + 2 + (second_length > 0)

        in_second = self._columns > inner.astype(np.int16)[:, None]
        beyond = self._columns >= lengths.astype(np.int16)[:, None]
        tokens = self._from(first - 1)
        np.copyto(tokens, self._from(second - inner - 1), where=in_second)
        np.copyto(tokens, self._pad, where=beyond)
        each = np.arange(len(chosen))
        tokens[:, 0] = self._cls
        tokens[each, inner] = self._sep
        tokens[each, lengths - 1] = self._sep

        names = rows.starts.take(chosen)
        names += copy * len(self._tokens)
        positions, targets, weights = self._masks.apply(tokens, first_length, ordinary, self._masks.keys(names, epoch))
        return Batch(
            tokens=tokens.astype(np.int32),
            segments=(in_second ^ beyond).astype(np.int32),
            lengths=lengths,
            positions=positions,
            targets=targets,
            weights=weights,
            next_sentence=rows.random.take(chosen).astype(np.int32),
            rows=names,
            epochs=np.full(len(chosen), epoch),
        )

    def _from(self, places: Numbers) -> npt.NDArray[Any]:
        """What stands from each of `places` (B,) on, (B, T); anything where that is outside of the text."""
        if self._views is not None and places.min() >= 0 and places.max() <= self._last:
            views: npt.NDArray[Any] = self._views[places]  # copies whole rows, several times as fast as single tokens
            return views
        return self._tokens.take(places[:, None] + self._columns, mode="clip")


def heldout(recipe: recipes.Recipe, corpus: Corpus, rows: int, own: bool) -> list[Batch]:
    """The fixed evaluation: at most `rows` single segments of the held-out documents, 15 % masked 80/10/10.

    It depends on the corpus and `inputs.length` alone. With `own` the same segments under the recipe's own masking.
    """
    if len(corpus.heldout.documents) < 2:
        raise BadInput("no document is held out for evaluation: give more documents or raise corpus.heldout")
    masking = recipe.masking if own else recipes.Masking()
    return _evaluation(single_segments(corpus.heldout, length=recipe.inputs.length), masking, recipe, corpus, rows)


def heldout_pairs(recipe: recipes.Recipe, corpus: Corpus, rows: int) -> list[Batch]:
    """At most `rows` segment pairs of the held-out documents, masked as in `heldout`, for next-sentence accuracy.

    They depend on the corpus and `inputs.length` alone. Empty if a single document is held out.
    """
    if len(corpus.heldout.documents) < 3:
        return []
    pairs = segment_pairs(corpus.heldout, length=recipe.inputs.length, short=0.0, copy=0, seed=_FIXED)
    return _evaluation(pairs, recipes.Masking(), recipe, corpus, rows)


def _evaluation(
    layout: Rows, masking: recipes.Masking, recipe: recipes.Recipe, corpus: Corpus, rows: int
) -> list[Batch]:
    collator = Collator(masking, corpus.tokenizer, corpus.heldout, recipe.inputs.length, _FIXED)
    order = keyed.permutation(keyed.key(_FIXED, "order"), len(layout))[:rows]
    parts = range(0, len(order), _EVALUATION_BATCH)
    return [collator.collate(layout, order[low : low + _EVALUATION_BATCH], 0, 0) for low in parts]


def joined(parts: list[Batch]) -> Batch:
    """The rows of several batches as one."""
    names: list[str] = [each.name for each in dataclasses.fields(Batch)]
    arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Batch(**arrays)
