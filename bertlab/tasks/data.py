"""Reads the examples of a task, and divides them."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np

from bertlab import hub, keyed
from bertlab.arrays import Integer
from bertlab.errors import BadInput
from bertlab.hub import Dataset
from bertlab.machine import Machine
from bertlab.names import shown
from bertlab.tasks import answers, catalog, kinds
from bertlab.tasks.kinds import Mixture
from bertlab.tasks.locate import LocatedTask, advice, content_of, existing, locate, split_file, splits_of
from bertlab.tasks.task import RawExamples, Table, Task, TaskData, columns_of
from bertlab.text import rows


def load(task: Task, *, machine: Machine, world: bool, substitute: str | None = None) -> TaskData:
    """Locates and reads the examples of a task; raises `BadInput` as `locate` and `read` do."""
    return read(locate(task, machine=machine, world=world, substitute=substitute))


def read(located: LocatedTask, most: int | None = None) -> TaskData:
    """The examples at a location; of a synthetic task, the first `most` of each split.

    Raises `BadInput` that names the file and the row for a missing column, an invalid value (an unknown label, an
    answer that is not in its context, another number of tags than tokens) and an empty split; and if the Hub is needed
    and unreachable.
    """
    task = located.task
    kind = kinds.find(task.kind)
    if located.parts:
        read_parts = [read(part, most) for part in located.parts]
        return cast(Mixture, kind).joined(task, located.name, located.content, read_parts)
    tables = answers.settled([_table(located, split, most) for split in splits_of(task)], kind.label_columns(task))
    labels = kind.label_names(task, tables)
    group = next((name for name in task.group if all(name in table.columns for table in tables)), None)

    def examples(table: Table) -> RawExamples:
        text, answers_of_split = kind.text(task, table), kind.answers(task, table, labels)
        questions = group_numbers(table, task.question) if task.question else None
        groups = questions if group is None else group_numbers(table, group)
        return RawExamples(text=text, labels=answers_of_split, groups=groups, questions=questions)

    parts = [*map(examples, tables)]
    train = parts.pop(0) if kind.trained else RawExamples(text=tuple([] for _ in task.text), labels=[])
    evaluation, *test = parts
    return TaskData(
        name=located.name,
        dataset=task.dataset,
        kind=task.kind,
        labels=labels,
        train=train,
        evaluation=evaluation,
        test=test[0] if test else None,
        content=located.content,
        group=group or "",
        unlabelled=sum(table.unlabelled for table in tables),
    )


def group_numbers(table: Table, column: str) -> Integer:
    """The number of the group of each row, by first appearance. Raises `BadInput` for a group without a name."""
    values = table.columns[column] if column in table.columns else table.texts(column)
    for row, value in enumerate(values, start=1):
        if not isinstance(value, str | int):
            raise BadInput(f"{table.where(column)} row {row} is {shown(value)}: give the name of its group as text")
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return np.array([numbers[value] for value in values], np.int32)


def _table(located: LocatedTask, split: str, most: int | None = None) -> Table:
    """The rows of a split that have labels."""
    task = located.task
    return answers.labelled(_rows(located, split, most), kinds.find(task.kind).label_columns(task), task.unlabelled)


def _rows(located: LocatedTask, split: str, most: int | None) -> Table:
    task, kind = located.task, kinds.find(located.task.kind)
    columns = (*chain.from_iterable(map(columns_of, _texts(task))), *kind.label_columns(task))
    optional = (*task.group, *kind.extra_columns)
    part = "".join(f" ({name} {value})" for name, value in task.only.items())
    if located.folder is not None:
        path = split_file(located.folder, split)
        cells = not {".csv", ".tsv"}.isdisjoint(path.suffixes)
        own_rows = _rows_of(rows.read(path, header=task.columns, quoted=task.quoted), task, mirrored=not task.path)
        return Table.of(own_rows, f"{path}{part}", columns, optional, cells=cells)
    if located.hub is not None:
        examples, names = from_hub(located.hub, split, task, advice(task))
        return Table.of(examples, f"{task.hub} {split}{part}", columns, optional, names)
    from bertlab import synthetic as microworld

    generated = microworld.rows(task.microworld, cast(Any, split), most)
    return Table.of(generated, f"microworld {task.microworld} {split}", columns, task.group)


def _texts(task: Task) -> tuple[str, ...]:
    """What a task reads as text."""
    return (*task.text, *([task.question] if task.question else ()))


def _rows_of(rows: Iterable[dict[str, Any]], task: Task, mirrored: bool = False) -> Iterator[dict[str, Any]]:
    """The rows of a task, by its `only`; all of a `mirrored` file without these columns."""
    only = task.only.items()
    return (row for row in rows if all(str(row.get(name, text if mirrored else None)) == text for name, text in only))


def from_hub(dataset: Dataset, split: str, task: Task, advice: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The rows of a task in a split of a data set of the Hub, and the names that it declares for the integers of the
    task's labels; such integers in lists, or of the task's own labels, become names, as both can differ in order.

    Rows have all columns; those of a part of a data set (`only`) have the columns that its tasks read, as the others,
    the tokens of each text in MRQA, take more memory than a machine may have.
    """
    opened, label, kind = dataset.open(split, advice), task.label, kinds.find(task.kind)
    read = {*chain.from_iterable(map(columns_of, (*_texts(task), label))), *task.group, *kind.extra_columns, *task.only}
    rows: list[dict[str, Any]] = []
    try:
        for batch in opened.with_format("arrow").iter(1000):
            columns = [name for name in batch.column_names if not task.only or name in read]
            rows += _rows_of(batch.select(columns).to_pylist(), task)
    except Exception as error:  # the library raises the errors of its readers
        raise hub.unreachable(f"split {split} of '{dataset.name}'", error, advice) from None
    feature = (opened.features or {}).get(label)
    names = tuple(getattr(getattr(feature, "feature", feature), "names", None) or ())
    names_of_integers = dict(enumerate(names))
    same = sorted(names) == sorted(task.labels)
    for row in rows:
        if same and type(row.get(label)) is int:
            row[label] = names_of_integers.get(row[label], row[label])
        elif isinstance(row.get(label), list):
            row[label] = [names_of_integers.get(tag, tag) if isinstance(tag, int) else tag for tag in row[label]]
    return rows, names


@functools.cache  # the pages of a report ask for each many times
def synthetic_texts(content: str, split: str, count: int = 0) -> tuple[str, ...]:
    """The texts of the evaluated examples of a split, each with the name of its right answer if it has one.

    Only synthetic examples of the present version have texts here, found by their `LocatedTask.content`. `count` is the
    most that were evaluated; 0 for all.
    """
    from bertlab import synthetic as microworld

    name = content.rpartition("/")[2].partition("@")[0]
    if name not in catalog.WORLD or content != f"microworld:{microworld.version(name)}":
        return ()
    return _lines(LocatedTask(task=catalog.WORLD[name], name=name, origin="microworld"), split, count)


def local_texts(task: Task, content: str, split: str, count: int, machine: Machine) -> tuple[str, ...]:
    """The texts that `synthetic_texts` gives, of local files: the folder of a task in `machine.data`.

    There are none if the files are not the evaluated ones.
    """
    folder = (machine.data or Path()) / task.dataset
    located = LocatedTask(task=task, name=task.dataset, origin="files", folder=folder)
    if not folder.is_dir() or not all(existing(folder, split) for split in splits_of(task)):
        return ()
    return _lines(located, split, count) if content_of(located, machine) == content else ()


def _lines(located: LocatedTask, split: str, count: int) -> tuple[str, ...]:
    task = located.task
    kind = kinds.find(task.kind)
    (table,) = answers.settled([_table(located, split)], kind.label_columns(task))
    table = dataclasses.replace(table, seen={})  # one split alone does not say how labels are counted
    labels = kind.label_names(task, [table])
    columns = kind.text(task, table)
    texts = [[value if isinstance(value, str) else " ".join(value) for value in column] for column in columns]
    right = [
        labels[answer] if isinstance(answer, int | np.integer) else "" for answer in kind.answers(task, table, labels)
    ]
    lines = [" / ".join(parts) for parts in zip(*texts, strict=True)]
    lines = [f"{line} ({answer})" if answer else line for line, answer in zip(lines, right, strict=True)]
    questions = group_numbers(table, task.question) if task.question else None
    return tuple(lines[row] for row in _evaluated(len(lines), count, questions))


def held_back(data: TaskData) -> TaskData:
    """The task with a keyed eighth of its training examples, in whole groups, as its evaluation split, for choosing
    settings."""
    count = len(data.train)
    groups = np.arange(count) if data.train.groups is None else data.train.groups
    sizes = np.bincount(groups)
    order = keyed.permutation(keyed.key("held back"), len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    away = np.isin(groups, order[before < max(1, count // 8)])
    held = with_all_parts(np.flatnonzero(away), data.train.parts)
    rest = np.setdiff1d(np.arange(count), held)
    if not len(rest):
        raise BadInput(f"task '{data.name}': its training examples form one group, so none can be held back")
    return dataclasses.replace(data, train=data.train.take(rest), evaluation=data.train.take(held), test=None)


def sampled(data: TaskData, count: int) -> TaskData:
    """The task with keyed samples of at most `count` evaluation and `count` test examples; all for 0. They ignore
    groups: at equal size, examples of many groups are more informative. Only the examples of a question stay together,
    as a part of them does not say whether all are right; and each task of a mixture has at least one, beyond `count` if
    need be."""

    def sample(part: RawExamples) -> RawExamples:
        rows = with_all_parts(_evaluated(len(part), count, part.questions), part.parts)
        return part if len(rows) == len(part) else part.take(rows)

    test = None if data.test is None else sample(data.test)
    return dataclasses.replace(data, evaluation=sample(data.evaluation), test=test)


def beginning(raw: RawExamples, count: int) -> RawExamples:
    """The first `count` examples; of a mixture of tasks some of each, and the whole of a question."""
    if raw.parts is None or raw.questions is None:
        rows: Integer = np.arange(min(count, len(raw)))
    else:
        rows = _evaluated(len(raw), count, raw.questions)
    return raw.take(with_all_parts(rows, raw.parts))


def with_all_parts(rows: Integer, parts: Integer | None) -> Integer:
    """Some rows of a mixture, whose tasks have these numbers, with the first one of each task that has none in them;
    without numbers these rows."""
    if parts is None:
        return rows
    _, first = np.unique(parts, return_index=True)
    return np.union1d(rows, first[~np.isin(parts[first], parts[rows])])


def _evaluated(rows: int, count: int, questions: Integer | None) -> Integer:
    """The numbers of the examples that `sampled` takes of a split, whose questions are these."""
    if not 0 < count < rows:
        return np.arange(rows)
    key = keyed.key("evaluation rows")
    if questions is None:
        return np.sort(keyed.permutation(key, rows)[:count])
    sizes = np.bincount(questions)
    order = keyed.permutation(key, len(sizes))
    num_questions = max(1, int((np.cumsum(sizes[order]) <= count).sum()))
    return np.flatnonzero(np.isin(questions, order[:num_questions]))
