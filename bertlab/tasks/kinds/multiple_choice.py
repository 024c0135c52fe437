"""Multiple choice, as in BERT section 4.4: [CLS] context [SEP] ending [SEP] for each ending, the dot product of one
vector with each [CLS], a softmax over the endings. With a question, the second segment is the question with an ending
in place of its blank `_`, or behind it (as in ALBERT's released code for RACE)."""

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
from bertlab.tasks.raw import RawExamples, Splits, TaskData, check_texts
from bertlab.tasks.task import Task

if TYPE_CHECKING:
    from torch import Tensor

    from bertlab.text.tokenizers.base import TrainedTokenizer


class MultipleChoice(TaskKind):
    """Which of several endings continues a context."""

    name = "multiple-choice"
    columns = range(2, 28)
    metrics = ("accuracy",)
    exchanged = 0

    def check(self, task: Task, names: tuple[str, ...], values: list[list[list[Any]]], places: list[str]) -> Splits:
        """Endings are columns, or one column of lists; labels their numbers or `names`; see `TaskKind.check`."""
        splits = []
        for columns, place in zip(values, places, strict=True):
            check_texts(columns[0], f"{place} column {task.text[0]}")
            splits.append((columns[0], *endings(columns[1:-1], task.text[1:], place)))
        first = len(splits[0]) - 1
        for text, place in zip(splits[1:], places[1:], strict=True):
            if len(text) - 1 != first:
                raise BadInput(
                    f"{place} has {len(text) - 1} endings per row, {places[0]} {first}: give the same number in both"
                )
        numbers = names if len(names) == first else tuple(str(number) for number in range(first))
        found = []
        for text, columns, place in zip(splits, values, places, strict=True):
            labels = classification.labels(columns[-1], numbers, f"{place} column {task.label}")
            found.append(RawExamples(text=text, labels=labels.tolist()))
        return numbers, found

    def encode(
        self,
        raw: RawExamples,
        tokenizer: TrainedTokenizer,
        length: int,
        *,
        training: bool = False,
        options: Collection[str] = (),
    ) -> Examples:
        """[CLS] context [SEP] ending [SEP] for each ending of an example, consecutively."""
        return examples(raw.text, np.array(raw.labels), tokenizer, length)

    def logits(self, model: Any, batch: Mapping[str, Tensor]) -> Tensor:
        """(B, 1, choices)."""
        return super().logits(model, batch).view(len(batch["targets"]), 1, -1)

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Floats, threshold: float | None = None
    ) -> Predicted:
        """The most probable ending of each example."""
        return classification.likeliest(scores, examples.targets)

    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """The most frequent index of the right ending."""
        return classification.most_frequent(train.targets, examples.targets)

    def lexical(self, data: TaskData, train: RawExamples, evaluated: Sequence[RawExamples]) -> list[Arrays]:
        """A logistic regression on `lexical.features` of the context with each ending: right or not."""
        choices = len(train.text) - 1
        right = (np.array(train.labels)[:, None] == np.arange(choices)).ravel().astype(int)
        model = lexical.fit_classifier(lexical.features(_pairs(train.text)), right)
        return [
            {
                "prediction": model.decision_function(lexical.features(_pairs(raw.text)))
                .reshape(-1, choices)
                .argmax(1),
                "label": np.array(raw.labels),
            }
            for raw in evaluated
        ]

    def metric(self, name: str, arrays: Arrays, labels: Sequence[str] = ()) -> Metric:
        """Accuracy alone: the index of an ending is arbitrary."""
        if name == LIKELIHOOD:
            return likelihood(arrays)
        if name not in self.metrics:
            raise self.unknown_metric(name)
        return classification.accuracy(arrays["prediction"], arrays["label"])

    def words(self, raw: RawExamples) -> float:
        """Each ending follows its own copy of the context."""
        context, *each = column_words(raw)
        return len(each) * context + sum(each)


def _pairs(text: Sequence[Sequence[str]]) -> list[list[str]]:
    """Contexts and endings as two columns, the endings of an example consecutively."""
    contexts, *columns = text
    first = [context for context in contexts for _ in columns]
    return [first, [ending for row in zip(*columns, strict=True) for ending in row]]


def endings(columns: Sequence[Sequence[Any]], names: Sequence[str], where: str) -> list[list[str]]:
    """One column per ending, from such columns or from one column of equally long lists of texts.

    A column of questions may precede the lists.

    Raises `BadInput` that names the first row with a value that is not text, or with another number of endings.
    """
    if len(columns) == 2 and isinstance(columns[1][0], list):
        check_texts(columns[0], f"{where} column {names[0]}")
        return [
            [_answered(question, ending) for question, ending in zip(columns[0], each, strict=True)]
            for each in endings(columns[1:], names[1:], where)
        ]
    if len(columns) == 1:
        place = f"{where} column {names[0]}"
        expected = len(columns[0][0]) if isinstance(columns[0][0], list) else 0
        for row, listed in enumerate(columns[0], start=1):
            if not isinstance(listed, list) or len(listed) < 2:
                raise BadInput(f"{place} row {row} is {shown(listed)}: give a list of two endings or more")
            if len(listed) != expected:
                raise BadInput(
                    f"{place} row {row} has {len(listed)} endings, the first row {expected}: give the same number"
                )
        columns = list(zip(*columns[0], strict=True))
        names = [names[0]] * expected
    for column, name in zip(columns, names, strict=True):
        check_texts(column, f"{where} column {name}")
    return [list(column) for column in columns]


def _answered(question: str, ending: str) -> str:
    """The question with an ending in place of its blank, or behind it."""
    return question.replace("_", ending) if "_" in question else f"{question} {ending}"


def examples(text: Sequence[Sequence[str]], labels: Integers, tokenizer: TrainedTokenizer, length: int) -> Examples:
    """Encodes contexts and their columns of endings: one sequence per ending, one target per example."""
    choices, count = len(text) - 1, len(labels)
    pairs = classification.examples(_pairs(text), np.repeat(labels, choices), tokenizer, length)
    return dataclasses.replace(
        pairs,
        positions=np.zeros(count, np.int32),
        target_offsets=np.arange(count + 1),
        targets=labels,
        owners=np.arange(count),
        raw_count=count,
        choices=choices,
    )
