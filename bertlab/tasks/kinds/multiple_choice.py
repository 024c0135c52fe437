"""Multiple choice, as in BERT section 4.4: [CLS] context [SEP] ending [SEP] for each ending, the dot product of one
vector with each [CLS], a softmax over the endings. With a question, the second segment is the question with an ending
in place of its blank `_`, or behind it (as in ALBERT's released code for RACE)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks import lexical
from bertlab.tasks.examples import Examples
from bertlab.tasks.kinds import classification, pairs
from bertlab.tasks.kinds.base import Arrays, Options, TaskKind
from bertlab.tasks.metrics import Metric
from bertlab.tasks.raw import RawExamples, Table, checked_texts
from bertlab.tasks.task import Task

if TYPE_CHECKING:
    from bertlab.text.tokenizers.base import TrainedTokenizer


class MultipleChoice(TaskKind):
    """Which of several endings continues a context."""

    name = "multiple-choice"
    columns = range(2, 28)
    metrics = ("accuracy",)
    exchanged = 0

    def label_names(self, task: Task, tables: Sequence[Table]) -> tuple[str, ...]:
        """The names of the task or of its source if there is one per ending, else numbers."""
        counts = [len(self.text(task, table)) - 1 for table in tables]
        if len(set(counts)) > 1:
            places = ", ".join(f"{table.place} has {count}" for table, count in zip(tables, counts, strict=True))
            raise BadInput(f"endings per row differ ({places}): give the same number in each split")
        names = task.labels or tables[0].names
        return names if len(names) == counts[0] else tuple(str(number) for number in range(counts[0]))

    def text(self, task: Task, table: Table) -> tuple[list[str], ...]:
        """The contexts, and one column per ending from columns or from one column of lists."""
        return (table.texts(task.text[0]), *endings(table, task.text[1:]))

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[int]:
        """The index of the right ending of each example."""
        return classification.labels(table.columns[task.label], names, table.where(task.label))

    def encode(
        self, raw: RawExamples, tokenizer: TrainedTokenizer, length: int, training: bool = False, options: Options = ()
    ) -> Examples:
        """[CLS] context [SEP] ending [SEP] for each ending of an example, consecutively; one target per example."""
        choices, labels = len(raw.text) - 1, np.array(raw.labels)
        found = pairs.encode(_pairs(raw.text), np.repeat(labels, choices), tokenizer, length)
        return dataclasses.replace(
            found,
            positions=found.positions[: len(raw)],
            targets=labels,
            owners=np.arange(len(raw)),
            raw_count=len(raw),
            choices=choices,
        )

    def lexical(self, train: RawExamples, evaluated: Sequence[RawExamples]) -> list[Arrays]:
        """A logistic regression on `lexical.features` of the context with each ending: right or not."""
        choices = len(train.text) - 1
        right = (np.array(train.labels)[:, None] == np.arange(choices)).ravel().astype(int)
        model = self.fit(lexical.features(_pairs(train.text)), right)
        found: list[Arrays] = []
        for raw in evaluated:
            scores = model.decision_function(lexical.features(_pairs(raw.text))).reshape(-1, choices)
            found.append({"prediction": scores.argmax(1), "label": np.array(raw.labels)})
        return found

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """Accuracy alone: the index of an ending is arbitrary."""
        return classification.accuracy(arrays["prediction"], arrays["label"])

    def words(self, raw: RawExamples) -> float:
        """Each ending follows its own copy of the context."""
        context = dataclasses.replace(raw, text=raw.text[:1])
        return super().words(raw) + (len(raw.text) - 2) * super().words(context)


def _pairs(text: Sequence[Sequence[str]]) -> list[list[str]]:
    """Contexts and endings as two columns, the endings of an example consecutively."""
    contexts, *columns = text
    first = [context for context in contexts for _ in columns]
    return [first, [ending for row in zip(*columns, strict=True) for ending in row]]


def endings(table: Table, names: Sequence[str]) -> list[list[str]]:
    """One column per ending, from the columns `names` or from a last column of equally long lists of texts.

    A column of questions may precede the lists. Raises `BadInput` that names the first row with a value that is not
    text, or with another number of endings.
    """
    listed = table.columns[names[-1]]
    if len(names) > 2 or (len(names) == 2 and not isinstance(listed[0], list)):
        return [table.texts(name) for name in names]
    columns = _listed(listed, table.where(names[-1]))
    if len(names) == 1:
        return columns
    questions = table.texts(names[0])
    return [[_answered(*pair) for pair in zip(questions, column, strict=True)] for column in columns]


def _listed(values: Sequence[Any], where: str) -> list[list[str]]:
    """Lists of endings as one column per ending."""
    count = len(values[0]) if isinstance(values[0], list) else 0
    for row, listed in enumerate(values, start=1):
        if not isinstance(listed, list) or len(listed) < 2:
            raise BadInput(f"{where} row {row} is {shown(listed)}: give a list of two endings or more")
        if len(listed) != count:
            raise BadInput(f"{where} row {row} has {len(listed)} endings, the first row {count}: give the same number")
    return [checked_texts(column, where) for column in zip(*values, strict=True)]


def _answered(question: str, ending: str) -> str:
    """The question with an ending in place of its blank, or behind it."""
    return question.replace("_", ending) if "_" in question else f"{question} {ending}"
