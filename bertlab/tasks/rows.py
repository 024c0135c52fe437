"""The raw columns of a task, checked: the first thing wrong is an error that names the file and the row."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bertlab.errors import BadInput
from bertlab.lab.study import Kind, Task
from bertlab.names import shown
from bertlab.tasks import classification, multiple_choice, regression, span, tagging
from bertlab.tasks.examples import Integers

COLUMNS: dict[Kind, range] = {
    "classification": range(1, 3),
    "regression": range(1, 3),
    "multiple-choice": range(2, 28),
    "span": range(2, 3),
    "tagging": range(1, 2),
}
"""How many columns of text each kind of task takes."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of one split."""

    text: tuple[list[Any], ...]
    """Columns of texts; of tagging, one column of lists of words."""
    labels: list[int] | list[float] | list[span.Answers] | list[Integers]
    """What is to be found in each row; of tagging, in each word of each row."""
    groups: Integers | None = None
    """(R,) the number of the group that each row is of; None where rows stand alone."""
    whole: Rows | None = None
    """The split that these rows were taken from; None if they are all of it. A sentence's neighbours are there."""
    places: Integers | None = None
    """(R,) the number of each row in `whole`."""

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Integers) -> Rows:
        """The rows of these numbers."""
        labels: list[Any] = [self.labels[row] for row in rows]
        text = tuple([column[row] for row in rows] for column in self.text)
        return Rows(
            text=text,
            labels=labels,
            groups=None if self.groups is None else self.groups[rows],
            whole=self.whole or self,
            places=rows if self.places is None else self.places[rows],
        )

    def grouped(self, values: list[Any], where: str) -> Rows:
        """The same rows, those of equal `values` in one group; `BadInput` names the row of one that is no text."""
        number: dict[Any, int] = {}
        for row, value in enumerate(values, start=1):
            if not isinstance(value, str | int):
                raise BadInput(f"{where} row {row} is {shown(value)}: give the name of what the row is of, a text")
            number.setdefault(value, len(number))
        return dataclasses.replace(self, groups=np.array([number[value] for value in values], np.int32))


Splits = tuple[tuple[str, ...], list[Rows]]
"""The names of the labels (none where they are no labels), and the rows of each split, those to train on first."""


def checked(task: Task, names: tuple[str, ...], values: list[list[list[Any]]], places: list[str]) -> Splits:
    """The rows of each split out of their raw columns, the label's last; `places` says where each split is from.

    `names` are the labels in their order, if they are known.
    """
    if task.kind == "classification":
        return _classified(task, names, values, places)
    if task.kind == "tagging":
        return _tagged(task, names, values, places)
    if task.kind == "multiple-choice":
        return _chosen(task, values, places)
    one = _answered if task.kind == "span" else _scored
    return (), [one(task, columns, place) for columns, place in zip(values, places, strict=True)]


def _texts(task: Task, columns: list[list[Any]], place: str) -> tuple[list[Any], ...]:
    for name, texts in zip(task.text, columns[:-1], strict=True):
        classification.check_texts(texts, f"{place} column {name}")
    return tuple(columns[:-1])


def _scored(task: Task, columns: list[list[Any]], place: str) -> Rows:
    numbers = regression.numbers(columns[-1], f"{place} column {task.label}")
    return Rows(text=_texts(task, columns, place), labels=numbers.tolist())


def _answered(task: Task, columns: list[list[Any]], place: str) -> Rows:
    questions, contexts = _texts(task, columns, place)
    answers = span.answers(contexts, columns[-1], f"{place} column {task.label}")
    return Rows(text=(questions, contexts), labels=answers)


def _chosen(task: Task, values: list[list[list[Any]]], places: list[str]) -> Splits:
    splits = []
    for columns, place in zip(values, places, strict=True):
        classification.check_texts(columns[0], f"{place} column {task.text[0]}")
        splits.append((columns[0], *multiple_choice.endings(columns[1:-1], task.text[1:], place)))
    first = len(splits[0]) - 1
    for texts, place in zip(splits[1:], places[1:], strict=True):
        if len(texts) - 1 != first:
            raise BadInput(f"{place} has {len(texts) - 1} endings a row, {places[0]} {first}: give as many in both")
    names = tuple(str(number) for number in range(first))
    return names, [
        Rows(text=text, labels=classification.labels(raw[-1], names, f"{place} column {task.label}").tolist())
        for text, raw, place in zip(splits, values, places, strict=True)
    ]


def _classified(task: Task, names: tuple[str, ...], values: list[list[list[Any]]], places: list[str]) -> Splits:
    where = [f"{place} column {task.label}" for place in places]
    names = names or classification.label_names([rows[-1] for rows in values], where)
    splits = []
    for rows, place, at in zip(values, places, where, strict=True):
        labels = classification.labels(rows[-1], names, at)
        splits.append(Rows(text=_texts(task, rows, place), labels=labels.tolist()))
    if len(names) < 2:
        raise BadInput(f"{where[0]} has the label {shown(names[0])} alone: a task needs at least two")
    return names, splits


def _tagged(task: Task, names: tuple[str, ...], values: list[list[list[Any]]], places: list[str]) -> Splits:
    words, tags = [], []
    for (tokens, marks), place in zip(values, places, strict=True):
        table = ".csv" in Path(place).name or ".tsv" in Path(place).name
        tokens, marks = tagging.sentences(tokens, marks, place, table, (task.text[0], task.label))
        words.append(tokens)
        tags.append(tagging.named(marks, names, f"{place} column {task.label}"))
        if not any(tokens):
            raise BadInput(f"{place} has no words: a task needs some")
    names = names or tagging.label_names(tags)
    return names, [
        Rows(text=(tokens,), labels=tagging.numbers(marks, names, place))
        for tokens, marks, place in zip(words, tags, places, strict=True)
    ]
