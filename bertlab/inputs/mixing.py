"""Sequences of tasks among those of text: where each sequence of a batch is from, and which example it is.

The source of a sequence is drawn by its step and its number in the batch. Each source then gives its next one: text as
without tasks, a task its examples in a keyed order for each of its epochs.
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from bertlab import keyed
from bertlab.arrays import Int32, Int64
from bertlab.errors import BadInput
from bertlab.inputs.streams import Batch, Sequences, Stream, joined
from bertlab.recipe import Recipe
from bertlab.text.tokens import TokenisedCorpus

SOURCE = "source"
"""What batches with tasks add to the arrays of the format: (B,) 0 for text, n for task number n of the recipe."""
_TOGETHER = 1 << 16
"""Sequences whose sources are drawn at once."""


class Mixture:
    """The sources of the sequences of one stage of a recipe with tasks, whose steps count from its first."""

    def __init__(self, recipe: Recipe, corpus: TokenisedCorpus, first: int) -> None:
        """Raises `BadInput` for a corpus without the examples of the tasks."""
        self.tasks, self._pad, self._loss = corpus.tasks, corpus.tokenizer.pad, recipe.objective[0]
        if len(self.tasks) != len(recipe.multitask.tasks):
            raise BadInput(
                "the recipe trains on tasks, whose examples the corpus lacks: train it with `bertlab ablate`"
            )
        self.rates = recipe.multitask.rates([len(task) for task in self.tasks])
        self._seed, self._first, self._size = recipe.seed, first, recipe.schedule.batch_size
        columns = zip(*((task.texts, task.answers) for task in self.tasks), strict=True)
        self._widths = [max(int(np.diff(begins).max()) for _, begins in of_tasks) for of_tasks in columns]
        self._ends, self._key = np.cumsum(self.rates)[:-1], keyed.key(recipe.seed, "source", first)
        self._before = (0, np.zeros(len(self.rates), np.int64))
        self._order = functools.lru_cache(4 * len(self.tasks))(self._draw_order)

    def sources(self, step: int, until: int) -> Int64:
        """(S, B) the source of each sequence of the batches from `step` to the one before `until`."""
        draws = keyed.uniform(self._key, np.arange(step, until)[:, None], np.arange(self._size))
        return np.searchsorted(self._ends, draws, side="right")

    def before(self, step: int) -> Int64:
        """(M + 1,) how many sequences of the text and of each task the batches before `step` have."""
        begin, counts = self._before
        if begin > step:
            begin, counts = 0, np.zeros_like(counts)
        while begin < step:
            until = min(step, begin + max(1, _TOGETHER // self._size))
            counts = counts + np.bincount(self.sources(begin, until).ravel(), minlength=len(counts))
            begin = until
        self._before = begin, counts
        return counts

    def tokens(self, step: int) -> int:
        """Tokens of the texts of tasks in the batches before `step`."""
        total = 0
        for number, (task, count) in enumerate(zip(self.tasks, self.before(step)[1:], strict=True)):
            sizes = np.diff(task.texts[1])
            epochs, rest = divmod(int(count), len(task))
            total += epochs * int(sizes.sum()) + int(sizes[self._order(number, epochs)[:rest]].sum())
        return total

    def mixed(self, step: int, until: int, text: Callable[[int, int], Batch]) -> list[Batch]:
        """The batches from `step` to the one before `until`; `text` gives the sequences of text between two numbers."""
        source, before = self.sources(step, until).ravel(), self.before(step)
        rows = [np.flatnonzero(source == number) for number in range(len(before))]
        first = int(before[0])
        parts = [text(first, first + len(rows[0]))] if len(rows[0]) else []
        for number, task in enumerate(self.tasks):
            epochs, within = np.divmod(before[number + 1] + np.arange(len(rows[number + 1])), len(task))
            parts += [
                self._examples(number, epoch, self._order(number, epoch)[within[epochs == epoch]])
                for epoch in np.unique(epochs).tolist()
            ]
        batch = joined(parts).rows(np.argsort(np.concatenate(rows)))
        batch = dataclasses.replace(batch, format={**batch.format, SOURCE: source})
        return [batch.rows(slice(low, low + self._size)) for low in range(0, len(source), self._size)]

    def _draw_order(self, number: int, epoch: int) -> Int64:
        task = self.tasks[number]
        return keyed.permutation(keyed.key(self._seed, "task", task.content, self._first, epoch), len(task))

    def _examples(self, number: int, epoch: int, chosen: Int64) -> Batch:
        """Examples of a task, whose ids are negative."""
        task, pad, loss = self.tasks[number], self._pad, self._loss
        inputs, targets = (
            _taken(part, chosen, width, pad)
            for part, width in zip((task.texts, task.answers), self._widths, strict=True)
        )
        ids = -1 - sum(map(len, self.tasks[:number])) - chosen
        sequences = Sequences({}, np.zeros((len(chosen), 0), np.int32), inputs.lengths, ids, epoch)
        sequences.add(loss.kind, loss.examples(inputs, targets, pad))
        return sequences.batch()


def _taken(values: tuple[Int32, Int64], chosen: Int64, width: int, pad: int) -> Stream:
    """Some of the texts that stand one behind the other, in `width` columns."""
    ids, begins = values
    lengths, column = np.diff(begins)[chosen].astype(np.int32), np.arange(width)
    tokens = ids.take(begins[chosen][:, None] + column, mode="clip")
    return Stream(np.where(column < lengths[:, None], tokens, np.int32(pad)), lengths)
