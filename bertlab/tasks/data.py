"""The rows of a task, from the embedded world, a local mirror, a user's own folder or the Hugging Face Hub."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bertlab.errors import BadInput, unknown
from bertlab.inputs import keyed
from bertlab.machine import Machine
from bertlab.study import Kind, Task
from bertlab.tasks import catalog, files
from bertlab.tasks.rows import COLUMNS, Rows, checked
from bertlab.text import sources


@dataclass(frozen=True, kw_only=True)
class TaskData:
    """A task with its rows, checked."""

    name: str
    """The task that was asked for."""
    dataset: str
    """The data set that its rows come from, as reports show it."""
    kind: Kind
    labels: tuple[str, ...]
    """Names of the labels; none for numbers and spans."""
    train: Rows
    evaluation: Rows
    test: Rows | None = None
    """Rows that are judged too, if the task has such."""
    content: str
    """What the rows are: `sha256:...` over local files, `hub:<name>@<commit>` or `microworld:<version>/<task>`, with
    `@<version>` of its own if the rows of the task have changed since."""


@dataclass(frozen=True, kw_only=True)
class Located:
    """Where the rows of a task are, before any is read."""

    task: Task
    """The task with the columns, splits and labels of the data set that is used; `test` only if it has that split."""
    asked: str
    """The task that was asked for."""
    origin: Literal["microworld", "files", "hub"]
    folder: Path | None = None


def locate(task: Task, *, machine: Machine, world: bool, substitute: str | None = None) -> Located:
    """Finds the rows of a task, or of the data set that is to take its place.

    A task's own `path` comes first, then (with `world`) its counterpart in the embedded world, then the mirror
    `machine.data`, then the Hub. `substitute` is a task of the catalogue, of the same kind, or a folder of the mirror
    with the task's columns; its rows are taken instead. Raises `BadInput` if there is no such thing.
    """
    asked = task.name or task.dataset or Path(task.path).name
    _check(task, asked)
    if substitute is not None:
        task = _substituted(task, asked, substitute, machine)
        world = world and not task.dataset
    if task.path:
        folder = Path(task.path).expanduser()
        if not folder.is_dir():
            raise BadInput(f"task '{asked}': there is no folder {folder}: give the folder of its files")
        return Located(
            task=dataclasses.replace(task, dataset=task.dataset or folder.name),
            asked=asked,
            origin="files",
            folder=folder,
        )
    if task.microworld and (world or task.name in catalog.WORLD):
        if task.microworld not in catalog.WORLD:
            raise unknown("microworld task", task.microworld, catalog.WORLD)
        counterpart = catalog.WORLD[task.microworld]
        test = counterpart.test if task.test else ""
        return Located(task=dataclasses.replace(counterpart, test=test), asked=asked, origin="microworld")
    if machine.data is not None and task.dataset and (machine.data / task.dataset).is_dir():
        folder = machine.data / task.dataset
        test = task.test if files.has(folder, task.test) else ""
        return Located(task=dataclasses.replace(task, test=test), asked=asked, origin="files", folder=folder)
    if task.hub:
        test = "" if task.hub in catalog.HIDDEN else task.test
        return Located(task=dataclasses.replace(task, test=test), asked=asked, origin="hub")
    where = f"{machine.data} has no folder '{task.dataset}'" if machine.data is not None else "no --data was given"
    raise BadInput(
        f"task '{asked}' has no copy on the Hub that loads without a script, and {where}: "
        "give --data DIR that has it, or --substitute"
    )


def content(task: Task, *, machine: Machine, world: bool, substitute: str | None = None) -> str:
    """What the rows of a task are, as `TaskData.content`, without reading more than it takes to know."""
    return content_of(locate(task, machine=machine, world=world, substitute=substitute), machine)


def load(task: Task, *, machine: Machine, world: bool, substitute: str | None = None) -> TaskData:
    """The rows of a task; see `locate` for where they come from.

    Raises `BadInput`, with the file and the row, for a column that is missing, for a row that is none of its kind (a
    wrong label, an answer that is not in its context, tokens without as many tags), and for an empty split; and if the
    Hub has to be asked and cannot be.
    """
    return read(locate(task, machine=machine, world=world, substitute=substitute), machine)


def read(located: Located, machine: Machine) -> TaskData:
    """The rows that `locate` found; see `load` for what it raises."""
    known = content_of(located, machine)
    used = located.task
    splits = _splits(used)
    columns = (*used.text, used.label)
    if located.origin == "microworld":
        values, places = _from_world(used, columns)
        named = used.labels
    elif located.folder is not None:
        paths = [files.find(located.folder, split) for split in splits]
        values, places, named = [files.read(path, columns) for path in paths], [str(path) for path in paths], ()
    else:
        values, named = _from_hub(used, columns, known.rpartition("@")[2])
        places = [f"{used.hub} {split}" for split in splits]
    for rows, place in zip(values, places, strict=True):
        if not rows[-1]:
            raise BadInput(f"{place} has no rows: task '{located.asked}' needs some")
    names, (train, evaluation, *test) = checked(used, used.labels or named, values, places)
    return TaskData(
        name=located.asked,
        dataset=used.dataset,
        kind=used.kind,
        labels=names,
        train=train,
        evaluation=evaluation,
        test=test[0] if test else None,
        content=known,
    )


def held_back(data: TaskData) -> TaskData:
    """The task with a keyed eighth of its training rows in place of what it is judged on: to choose settings by."""
    order = keyed.permutation(keyed.key("held back"), len(data.train))
    size = max(1, len(order) // 8)
    rest, held = np.sort(order[size:]), np.sort(order[:size])
    return dataclasses.replace(data, train=data.train.take(rest), evaluation=data.train.take(held), test=None)


def untested(located: Located) -> str:
    """Why a located task has no test split, and what to do."""
    dataset, folder = located.task.dataset, located.folder
    if located.task.hub in catalog.HIDDEN and folder is None:
        return f"the Hub hides its labels: give --data DIR with a folder '{dataset}' that has them"
    if folder is not None and not files.has(folder, "test"):
        return f"{folder} has no test{files.SUFFIXES[0]} (or .parquet, .csv, .tsv): add it, or use another data set"
    return f"task '{located.asked}' names none: report its evaluation split, or use a Task of your own with `test`"


def _splits(task: Task) -> list[str]:
    """The splits that are read: to train on, to evaluate on, and to test on if there is one."""
    return [task.train, task.evaluation, *([task.test] if task.test else [])]


def _check(task: Task, asked: str) -> None:
    allowed = COLUMNS.get(task.kind)
    if allowed is None:
        raise unknown(f"kind of task '{asked}'", task.kind, COLUMNS)
    if len(task.text) not in allowed:
        raise BadInput(
            f"task '{asked}' names {len(task.text)} text columns: {task.kind} takes {allowed[0]}"
            + (f" to {allowed[-1]}" if len(allowed) > 1 else "")
        )


def _substituted(task: Task, asked: str, substitute: str, machine: Machine) -> Task:
    if substitute in catalog.TASKS:
        other = catalog.TASKS[substitute]
        if other.kind != task.kind:
            raise BadInput(
                f"{asked}={substitute}: {asked} is {task.kind}, {substitute} is {other.kind}; name one of its kind"
            )
        return other
    folder = machine.data / substitute if machine.data is not None else None
    if folder is None or not folder.is_dir():
        there = files.folders(machine.data) if machine.data is not None else []
        raise unknown(f"data set for {asked}", substitute, {*catalog.TASKS, *there})
    return dataclasses.replace(
        task,
        name=substitute,
        dataset=substitute,
        hub="",
        path="",
        evaluation=task.evaluation if files.has(folder, task.evaluation) else "validation",
        labels=(),
        microworld="",
    )


def content_of(located: Located, machine: Machine) -> str:
    """What located rows are, as `TaskData.content`."""
    task = located.task
    if located.origin == "microworld":
        from bertlab.text import microworld

        return f"microworld:{microworld.version(task.microworld)}"
    if located.folder is not None:
        return sources.content([files.find(located.folder, split) for split in _splits(task)], machine)
    return f"hub:{task.hub}@{_commit(located)}"


def _from_world(task: Task, columns: Sequence[str]) -> tuple[list[list[list[Any]]], list[str]]:
    from bertlab.text import microworld

    splits: list[Any] = _splits(task)
    read = [microworld.rows(task.microworld, split) for split in splits]
    values = [[[row[column] for row in rows] for column in columns] for rows in read]
    return values, [f"microworld {task.microworld} {split}" for split in splits]


def _commit(located: Located) -> str:
    from huggingface_hub import HfApi

    repository = located.task.hub.partition(":")[0]
    try:
        commit = HfApi().dataset_info(repository, timeout=20).sha
    except Exception as error:  # the client raises its own, httpx's and OSError, all with the same meaning here
        raise _unreachable(located.task, located.asked, error) from None
    if not commit:
        raise BadInput(f"the Hub names no commit of {repository}: give --data DIR that has '{located.task.dataset}'")
    return commit


def _from_hub(task: Task, columns: Sequence[str], commit: str) -> tuple[list[list[list[Any]]], tuple[str, ...]]:
    """The columns of each split, and the names of the labels as the Hub declares them, if it does."""
    import datasets

    datasets.disable_progress_bars()  # progress is drawn in one place, by the command line
    repository, _, configuration = task.hub.partition(":")
    values: list[list[list[Any]]] = []
    names: tuple[str, ...] = ()
    for split in _splits(task):
        try:
            rows = datasets.load_dataset(repository, configuration or None, split=split, revision=commit)
        except Exception as error:  # of many kinds, see `_commit`
            raise _unreachable(task, task.name or task.hub, error) from None
        files.require(f"{task.hub} {split}", columns, rows.column_names)
        values.append([list(rows[column]) for column in columns])
        feature = rows.features[task.label]
        names = tuple(getattr(getattr(feature, "feature", feature), "names", None) or names)
        if task.kind == "tagging" and names:  # integers mean the Hub's own order of tags, whatever the task's is
            values[-1][-1] = [[_tag(tag, names) for tag in sentence] for sentence in values[-1][-1]]
    return values, names


def _tag(tag: Any, names: tuple[str, ...]) -> Any:
    return names[tag] if isinstance(tag, int) and 0 <= tag < len(names) else tag


def _unreachable(task: Task, asked: str, error: Exception) -> BadInput:
    first = str(error).strip().split("\n")[0][:200]
    return BadInput(
        f"task '{asked}' cannot be had from the Hub ({task.hub}: {type(error).__name__}: {first}): "
        f"give --data DIR with a folder '{task.dataset}', or leave --corpus out to measure on the embedded world"
    )
