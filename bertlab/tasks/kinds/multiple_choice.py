"""Multiple choice, as in BERT section 4.4: [CLS] context [SEP] ending [SEP] for each ending, one vector dotted with
each [CLS], a softmax over the endings."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks import lexical
from bertlab.tasks.examples import Examples, Floats, Integers
from bertlab.tasks.kinds import classification
from bertlab.tasks.kinds.base import LIKELIHOOD, Arrays, Predicted, TaskKind, column_words, likelihood
from bertlab.tasks.metrics import Metric
from bertlab.tasks.rows import Rows, Splits, TaskData, check_texts
from bertlab.tasks.task import Task

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import Pooler
    from bertlab.text.tokenizers.wordpiece import WordPiece


class MultipleChoice(TaskKind):
    """The right one of several endings of a context."""

    name = "multiple-choice"
    columns = range(2, 28)
    metrics = ("accuracy",)
    exchanged = 0

    def check(self, task: Task, names: tuple[str, ...], values: list[list[list[Any]]], places: list[str]) -> Splits:
        """Endings are columns, or one column of lists; see `TaskKind.check`."""
        splits = []
        for columns, place in zip(values, places, strict=True):
            check_texts(columns[0], f"{place} column {task.text[0]}")
            splits.append((columns[0], *endings(columns[1:-1], task.text[1:], place)))
        first = len(splits[0]) - 1
        for text, place in zip(splits[1:], places[1:], strict=True):
            if len(text) - 1 != first:
                raise BadInput(f"{place} has {len(text) - 1} endings a row, {places[0]} {first}: give as many in both")
        numbers = tuple(str(number) for number in range(first))
        found = []
        for text, columns, place in zip(splits, values, places, strict=True):
            labels = classification.labels(columns[-1], numbers, f"{place} column {task.label}")
            found.append(Rows(text=text, labels=labels.tolist()))
        return numbers, found

    def encode(
        self, rows: Rows, tokenizer: WordPiece, length: int, *, training: bool = False, options: Collection[str] = ()
    ) -> Examples:
        """[CLS] context [SEP] ending [SEP], the endings of an example one after another."""
        return examples(rows.text, np.array(rows.labels), tokenizer, length)

    def head(
        self,
        encoder: Backbone,
        pooler: Pooler,
        labels: Sequence[str],
        dropout: float,
        seed: int,
        options: Collection[str] = (),
    ) -> nn.Module:
        """The pooler and one output, the score of an ending."""
        from bertlab.model.heads import ClassificationModel

        return ClassificationModel(encoder, pooler, 1, dropout, seed)

    def logits(self, model: Any, batch: Mapping[str, Tensor]) -> Tensor:
        """(B, 1, choices)."""
        return super().logits(model, batch).view(len(batch["targets"]), 1, -1)

    def predict(
        self, data: TaskData, rows: Rows, examples: Examples, scores: Floats, threshold: float | None = None
    ) -> Predicted:
        """The likeliest ending of each example."""
        return classification.likeliest(scores, examples.targets)

    def majority(self, data: TaskData, rows: Rows, train: Examples, examples: Examples) -> Arrays:
        """The place at which the right ending stands most often."""
        return classification.most_frequent(train.targets, examples.targets)

    def lexical(self, data: TaskData, train: Rows, judged: Sequence[Rows]) -> list[Arrays]:
        """A logistic regression on `lexical.features` of the context with each ending: right or not."""
        choices = len(train.text) - 1
        right = (np.array(train.labels)[:, None] == np.arange(choices)).ravel().astype(int)
        model = lexical.separator(lexical.features(_pairs(train.text)), right)
        return [
            {
                "prediction": model.decision_function(lexical.features(_pairs(rows.text)))
                .reshape(-1, choices)
                .argmax(1),
                "label": np.array(rows.labels),
            }
            for rows in judged
        ]

    def metric(self, name: str, arrays: Arrays, labels: Sequence[str] = ()) -> Metric:
        """Accuracy: the number of an ending means nothing."""
        if name == LIKELIHOOD:
            return likelihood(arrays)
        if name not in self.metrics:
            raise self.unknown_metric(name)
        return classification.accuracy(arrays["prediction"], arrays["label"])

    def words(self, rows: Rows) -> float:
        """Each ending stands behind the context."""
        context, *each = column_words(rows)
        return len(each) * context + sum(each)


def _pairs(text: Sequence[Sequence[str]]) -> list[list[str]]:
    """Contexts and endings as two columns, the endings of an example one after another."""
    contexts, *columns = text
    first = [context for context in contexts for _ in columns]
    return [first, [ending for row in zip(*columns, strict=True) for ending in row]]


def endings(columns: Sequence[Sequence[Any]], names: Sequence[str], where: str) -> list[list[str]]:
    """The columns of endings, one for each: given as such, or as one column of lists, of as many texts in each row.

    Raises `BadInput` with the row of the first that has other than texts, or not as many as the first row.
    """
    if len(columns) == 1:
        place = f"{where} column {names[0]}"
        expected = len(columns[0][0]) if isinstance(columns[0][0], list) else 0
        for row, listed in enumerate(columns[0], start=1):
            if not isinstance(listed, list) or len(listed) < 2:
                raise BadInput(f"{place} row {row} is {shown(listed)}: give a list of two endings or more")
            if len(listed) != expected:
                raise BadInput(f"{place} row {row} has {len(listed)} endings, the first row {expected}: give as many")
        columns = list(zip(*columns[0], strict=True))
        names = [names[0]] * expected
    for column, name in zip(columns, names, strict=True):
        check_texts(column, f"{where} column {name}")
    return [list(column) for column in columns]


def examples(text: Sequence[Sequence[str]], labels: Integers, tokenizer: WordPiece, length: int) -> Examples:
    """Contexts and their columns of endings as arrays: the rows of an example one after another, its label once."""
    choices, count = len(text) - 1, len(labels)
    pairs = classification.examples(_pairs(text), np.repeat(labels, choices), tokenizer, length)
    return dataclasses.replace(
        pairs,
        places=np.zeros(count, np.int32),
        target_offsets=np.arange(count + 1),
        targets=labels,
        owners=np.arange(count),
        rows=count,
        choices=choices,
    )
