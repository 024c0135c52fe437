"""A task as data: an entry of the catalogue, or a task that a study file defines; and its examples before encoding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from bertlab.arrays import Integer
from bertlab.errors import BadInput, suggestion
from bertlab.names import shown
from bertlab.recipe.ranges import Checked
from bertlab.tasks import marks

_BRACES = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, kw_only=True)
class Task(Checked, group="task "):
    """The location of a task's examples and the meaning of its columns.

    Tasks of the catalogue set `dataset`; a user's own task sets `path`, a folder of `<split>.jsonl[.gz]`, `.parquet`,
    `.csv` or `.tsv` files (for tagging, whose columns are lists, one of the first two).
    """

    kind: str
    """One of `tasks.kinds.KINDS`."""
    name: str = ""
    """How `--substitute` and reports refer to it; by default that of its data set or of its folder."""
    dataset: str = ""
    """The name of its folder in a local mirror (`mnli`), which reports show."""
    hub: str = ""
    """The data set on the Hugging Face Hub as `owner/name[:config][@revision]`."""
    path: str = ""
    """A folder of the user's own; a relative path starts at the folder of the study file."""
    train: str = "train"
    """The split that it is trained on, if its kind is; of another folder beside its own, such as `../squad/train`."""
    evaluation: str = "validation"
    """The split that measurements report by default."""
    test: str = ""
    """A test split with public labels, which measurements can report too; empty for none."""
    only: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The rows that are the task's, in a data set of several: texts or numbers of columns, `{"subset": "NewsQA"}`. A
    file of a local mirror without such a column has rows of the task alone."""
    text: tuple[str, ...] = ()
    """Text columns: one or two for classification and regression; question and context for spans; the good and the bad
    sentence for minimal pairs; context and endings
    (or one column of lists of endings, which one of questions may precede) for multiple choice; one column of tokens
    for tagging; context, pronoun, its position in characters and two names for coreference; one column of sentences,
    each a list of words, for coreference resolution. A text may also join columns, named in braces: `{premise} What was
    the {question}?`; lists of texts, such as the turns of a dialogue, are joined with spaces, in `{names, }` with
    commas. Braces can mark a span of a text, `[ it ]`: `{sentence[start:end]}` with columns of its characters,
    `{text[index@words]}` of the number of its first word and of its words."""
    label: str = "label"
    """The target column: a label for classification, a number for regression, the index, the text or the name of the
    right ending for multiple choice, a label per token for tagging; for spans SQuAD's `answers`, `{"text": [...],
    "answer_start": [...]}` in characters of the context, with empty lists if the question has no answer, or MRQA's list
    of accepted texts, whose places in the context the column `detected_answers` has; two columns in braces for
    coreference, `{A-coref} {B-coref}`: whether the pronoun means the first name, and the second; for minimal pairs
    the paradigm, perhaps behind the phenomenon, `{phenomenon}/{paradigm}`, or empty if all are of one; for coreference
    resolution clusters, lists of the first and last words of mentions, or the column of sentences itself, if these have
    `words`, `part_id` and `coref_spans` as CoNLL-2012 on the Hub."""
    labels: tuple[str, ...] = ()
    """Names of the labels, in the order of their integers; empty to read them from the data. For a mixture its tasks,
    names of the catalogue, with the metrics whose means it averages: `mrpc-text:f1+accuracy`."""
    counted_from: int | None = None
    """The integer of the first label or ending; None for 0, unless integers are names of labels."""
    unlabelled: tuple[str | int, ...] = ()
    """Answers of rows without a label, such as `("-", -1)`, which are left out; `""` is an empty cell or null."""
    group: tuple[str, ...] = ()
    """Columns whose equal values mark dependent examples (of an article, a paragraph, a premise), widest group first;
    the first that all splits have applies. The bootstrap and the held-back split keep such examples together."""
    question: str = ""
    """A column, or columns in braces, whose equal values mark the examples of one question, such as its possible
    answers: `{paragraph} {question}`. `exact` is the share of questions with all examples right; a sample of evaluation
    examples has whole questions."""
    columns: tuple[str, ...] = ()
    """Names of the columns of `.csv` and `.tsv` files whose first line is no header."""
    quoted: bool | None = None
    """Whether quotes enclose cells of `.csv` and `.tsv` files; None for `.csv` alone: in GLUE's files they are text."""
    microworld: str = ""
    """The synthetic counterpart, for runs on the synthetic corpus."""


def columns_of(text: str) -> tuple[str, ...]:
    """The columns that a member of `Task.text` reads: those in its braces, or the one that it names."""
    return tuple(chain.from_iterable(map(marks.columns, _BRACES.findall(text)))) or (text,)


@dataclass(frozen=True)
class Table:
    """The columns of a split, unchecked."""

    source: str
    """The source, as errors name it: a file, or a data set of the Hub and its split."""
    columns: dict[str, list[Any]]
    names: tuple[str, ...] = ()
    """The names of integer labels, if the source declares them."""
    cells: bool = False
    """Whether it is a .csv or .tsv file, whose values are all text."""
    seen: Mapping[str, frozenset[str | float]] = field(default_factory=dict)
    """The answers in all splits by their column, once these are known."""
    unlabelled: int = 0
    """Rows without a label, which are left out."""

    @classmethod
    def of(
        cls,
        rows: Iterable[Mapping[str, Any]],
        source: str,
        required: Sequence[str],
        optional: Sequence[str] = (),
        names: tuple[str, ...] = (),
        cells: bool = False,
    ) -> Table:
        """Collects the `required` columns of rows, and those `optional` ones that the first row has. Raises `BadInput`
        if there are no rows, or with the nearest name if a row lacks a column."""
        columns: dict[str, list[Any]] = {}
        for number, row in enumerate(map(_with_members, rows), start=1):
            columns = columns or {name: [] for name in (*required, *(name for name in optional if name in row))}
            for name, values in columns.items():
                if name not in row:
                    lacks = f"has no column '{name}', which the task reads"
                    if cells:
                        advice = "if it is a row, name its cells in the task's field columns"
                        lacks += f" (its first line is taken for the header: {advice})"
                    raise BadInput(f"{source} row {number} {lacks}: {suggestion(name, row)}")
                values.append(row[name])
        if not columns:
            raise BadInput(f"{source} has no rows: give at least one")
        return cls(source, columns, names, cells)

    def where(self, column: str) -> str:
        """A column, as errors name it."""
        return f"{self.source} column {column}"

    def values(self, column: str) -> list[Any]:
        """The values of a column; cells are texts, also those that count labels as integers."""
        values = self.columns[column]
        return [*map(str, values)] if self.cells else values

    def texts(self, text: str) -> list[str]:
        """The texts of a column, or of columns in braces. Raises `BadInput` that names the first row without text."""
        if text in self.columns:
            return checked_texts(self.values(text), self.where(text))
        parts = _BRACES.split(text)  # between, column, between, column, ..., between
        columns = []
        for part in parts[1::2]:
            name = marks.columns(part)[0]
            between = marks.COMMAS if part.endswith(marks.COMMAS) else " "
            values = checked_texts(_joined(self.values(name), between), self.where(name))
            columns.append(marks.apply(part, values, self.columns, self.where))
        rows = zip(*columns, strict=True)
        return ["".join(chain(*zip(parts[::2], (*row, ""), strict=True))) for row in rows]


def _with_members(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row with the members of its records beside them, `translation.en`."""
    records = {name: value for name, value in row.items() if isinstance(value, dict)}
    members = {f"{name}.{key}": value for name, record in records.items() for key, value in record.items()}
    return {**row, **members} if members else row


def _joined(values: Sequence[Any], between: str) -> list[Any]:
    """Lists of texts as texts; other values as they are, for a check to name."""
    lists = (isinstance(value, list) and all(isinstance(part, str) for part in value) for value in values)
    return [between.join(value) if joins else value for value, joins in zip(values, lists, strict=True)]


def checked_texts(values: Sequence[Any], where: str) -> list[str]:
    """The same values. Raises `BadInput` that names the first row without text."""
    for row, value in enumerate(values, start=1):
        if not isinstance(value, str):
            raise BadInput(f"{where} row {row} is {shown(value)}: give a text")
    return list(values)


@dataclass(frozen=True, kw_only=True)
class RawExamples:
    """Examples of one split, before they are encoded."""

    text: tuple[list[Any], ...]
    """Columns of text; for tagging and coreference resolution, one column of lists of words."""
    labels: Sequence[Any]
    """The answer of each example: a label, a number, a `span.Answers`; for tagging, an array of tags per word; for
    coreference resolution, an `Annotation`."""
    groups: Integer | None = None
    """(E,) the group of each example; None if examples are independent."""
    questions: Integer | None = None
    """(E,) the question of each example; None if the task names no column of questions."""
    parts: Integer | None = None
    """(E,) the number of the task of each example in a mixture of tasks; None elsewhere."""
    split: RawExamples | None = None
    """The whole split, which has the neighbours of a sentence; None if these examples are all of it."""
    indices: Integer | None = None
    """(E,) the index of each example in `split`."""

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, indices: Integer) -> RawExamples:
        """The examples at these indices."""
        return RawExamples(
            text=tuple([column[index] for index in indices] for column in self.text),
            labels=[self.labels[index] for index in indices],
            groups=None if self.groups is None else self.groups[indices],
            questions=None if self.questions is None else self.questions[indices],
            parts=None if self.parts is None else self.parts[indices],
            split=self.split or self,
            indices=indices if self.indices is None else self.indices[indices],
        )


@dataclass(frozen=True, kw_only=True)
class TaskData:
    """A task with its raw examples, checked."""

    name: str
    """The name of the requested task, not of its substitute."""
    dataset: str
    kind: str
    labels: tuple[str, ...]
    """Names of the labels; none for regression and spans."""
    train: RawExamples
    evaluation: RawExamples
    test: RawExamples | None = None
    content: str
    """Identifies the examples, as `LocatedTask.content`."""
    group: str = ""
    """The column of `Task.group` that the examples have; empty for none."""
    unlabelled: int = 0
    """Rows without a label, which are left out of all splits."""
