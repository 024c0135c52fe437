"""The raw examples of a task: texts and labels, checked."""

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
class RawExamples:
    """Examples of one split, before they are encoded."""

    text: tuple[list[Any], ...]
    """Columns of text; for tagging, one column of lists of words."""
    labels: Sequence[Any]
    """The answer of each example: a label, a number, a `span.Answers`; for tagging, an array of tags per word."""
    groups: Integers | None = None
    """(E,) the group of each example; None if examples are independent."""
    split: RawExamples | None = None
    """The whole split, which has the neighbours of a sentence; None if these examples are all of it."""
    indices: Integers | None = None
    """(E,) the index of each example in `split`."""

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, indices: Integers) -> RawExamples:
        """The examples at these indices."""
        return RawExamples(
            text=tuple([column[index] for index in indices] for column in self.text),
            labels=[self.labels[index] for index in indices],
            groups=None if self.groups is None else self.groups[indices],
            split=self.split or self,
            indices=indices if self.indices is None else self.indices[indices],
        )

    def grouped(self, values: list[Any], where: str) -> RawExamples:
        """These examples, grouped by equal `values`; `BadInput` names the row of a value that is not text."""
        number: dict[Any, int] = {}
        for row, value in enumerate(values, start=1):
            if not isinstance(value, str | int):
                raise BadInput(f"{where} row {row} is {shown(value)}: give the name of its group as text")
            number.setdefault(value, len(number))
        return dataclasses.replace(self, groups=np.array([number[value] for value in values], np.int32))


@dataclass(frozen=True, kw_only=True)
class TaskData:
    """A task with its raw examples, checked."""

    name: str
    """The name of the requested task."""
    dataset: str
    """The data set of its examples, as reports show it."""
    kind: str
    labels: tuple[str, ...]
    """Names of the labels; none for regression and spans."""
    train: RawExamples
    evaluation: RawExamples
    test: RawExamples | None = None
    """The test split, if the task has one."""
    content: str
    """Identifies the examples: `sha256:...` of local files, `hub:...` of the hashes of the Hub's files, or
    `microworld:<version>/<task>`, with `@<version>` of all tasks."""


Splits = tuple[tuple[str, ...], list[RawExamples]]
"""The names of the labels (none for answers without labels), and the examples of each split, training first."""


def check_texts(values: Sequence[Any], where: str) -> None:
    """Raises `BadInput` that names the first row without text."""
    for row, value in enumerate(values, start=1):
        if not isinstance(value, str):
            raise BadInput(f"{where} row {row} is {shown(value)}: give a text")


def texts(names: Sequence[str], columns: Sequence[list[Any]], place: str) -> tuple[list[Any], ...]:
    """The text columns called `names`, checked; `place` names their source in errors."""
    for name, column in zip(names, columns, strict=True):
        check_texts(column, f"{place} column {name}")
    return tuple(columns)
