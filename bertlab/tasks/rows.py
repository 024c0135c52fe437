"""The examples of a task, checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks.examples import Integers


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of one split."""

    text: tuple[list[Any], ...]
    """Columns of texts; of tagging, one column of lists of words."""
    labels: Sequence[Any]
    """The answer of each row: a label, a number, a `span.Answers`; of tagging, an array with the tag of each word."""
    groups: Integers | None = None
    """(R,) the number of the group of each row; None where rows stand alone."""
    whole: Rows | None = None
    """The split that these rows were taken from; None if they are all of it. A sentence's neighbours are there."""
    places: Integers | None = None
    """(R,) the number of each row in `whole`."""

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Integers) -> Rows:
        """The rows of these numbers."""
        return Rows(
            text=tuple([column[row] for row in rows] for column in self.text),
            labels=[self.labels[row] for row in rows],
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


@dataclass(frozen=True, kw_only=True)
class TaskData:
    """A task with its rows, checked."""

    name: str
    """The task that was asked for."""
    dataset: str
    """The data set that its rows come from, as reports show it."""
    kind: str
    labels: tuple[str, ...]
    """Names of the labels; none for numbers and spans."""
    train: Rows
    evaluation: Rows
    test: Rows | None = None
    """Rows of the test split, if the task has one."""
    content: str
    """What the rows are: `sha256:...` over local files, `hub:...` over the hashes of those of the Hub, or
    `microworld:<version>/<task>`, with `@<version>` of all tasks."""


Splits = tuple[tuple[str, ...], list[Rows]]
"""The names of the labels (none where answers are no labels), and the rows of each split, the training rows first."""


def check_texts(values: Sequence[Any], where: str) -> None:
    """Raises `BadInput` that names the first row that holds no text."""
    for row, value in enumerate(values, start=1):
        if not isinstance(value, str):
            raise BadInput(f"{where} row {row} is {shown(value)}: give a text")


def texts(names: Sequence[str], columns: Sequence[list[Any]], place: str) -> tuple[list[Any], ...]:
    """The columns of text called `names`, checked; `place` is where they are from."""
    for name, column in zip(names, columns, strict=True):
        check_texts(column, f"{place} column {name}")
    return tuple(columns)
