"""Loads the examples of a task: synthetic, or from a local mirror, a user's own folder or the Hugging Face Hub."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bertlab import keyed
from bertlab.errors import BadInput, unknown
from bertlab.hub import datasets as hub
from bertlab.hub.datasets import Dataset, Reference
from bertlab.machine import Machine
from bertlab.store.files import expanded, kind
from bertlab.tasks import catalog, files, kinds
from bertlab.tasks.raw import RawExamples, TaskData
from bertlab.tasks.task import Task
from bertlab.text import sources


@dataclass(frozen=True, kw_only=True)
class Located:
    """The location of a task's data, before any is read."""

    task: Task
    """The task with the columns, splits and labels of its data set; `test` only if that has the split."""
    name: str
    """That of the requested task: of its own, not of its substitute."""
    origin: Literal["microworld", "files", "hub"]
    folder: Path | None = None
    hub: Dataset | None = None
    """The data set of the Hub at a commit, once `pinned`."""


def locate(task: Task, *, machine: Machine, world: bool, substitute: str | None = None) -> Located:
    """Locates the data of a task, or of its substitute.

    The order is: the task's own `path`, with `world` its synthetic counterpart, the mirror `machine.data`, the Hub.
    `substitute` names a task of the catalogue of the same kind, or a folder of the mirror or a data set of the Hub
    (`owner/name[:config]`) with the task's columns; with `@revision` it is always the Hub's. Raises `BadInput` if
    nothing is found.
    """
    name = task.name or task.dataset or Path(task.path).name
    _check(task, name)
    if substitute is not None:
        task = _substituted(task, name, substitute, machine)
        world = world and not task.dataset
    if task.path:
        folder = expanded(task.path, f"task '{name}'")
        if kind(folder, f"task '{name}'") != "folder":
            raise BadInput(f"task '{name}': there is no folder {folder}: give the folder of its files")
        return Located(
            task=dataclasses.replace(task, dataset=task.dataset or folder.name),
            name=name,
            origin="files",
            folder=folder,
        )
    revised = substitute is not None and ("@" in substitute or "/" in substitute)
    if not revised and task.microworld and (world or task.name in catalog.WORLD):
        if task.microworld not in catalog.WORLD:
            raise unknown("microworld task", task.microworld, catalog.WORLD)
        counterpart = catalog.WORLD[task.microworld]
        test = counterpart.test if task.test else ""
        return Located(task=dataclasses.replace(counterpart, test=test), name=name, origin="microworld")
    mirrored = machine.data / task.dataset if machine.data is not None and task.dataset else None
    if not revised and mirrored is not None and kind(mirrored, "--data") == "folder":
        test = task.test if files.has(mirrored, task.test) else ""
        return Located(task=dataclasses.replace(task, test=test), name=name, origin="files", folder=mirrored)
    if task.hub:
        if reference_of(task).name in catalog.HIDDEN:
            task = dataclasses.replace(task, test="")
        return Located(task=task, name=name, origin="hub")
    where = f"{machine.data} has no folder '{task.dataset}'" if machine.data is not None else "no --data was given"
    raise BadInput(
        f"task '{name}' has no copy on the Hub that loads without a script, and {where}: "
        "give --data DIR that has it, or --substitute"
    )


def content(task: Task, *, machine: Machine, world: bool, substitute: str | None = None) -> str:
    """The content hash of a task's data, as `TaskData.content`."""
    return content_of(locate(task, machine=machine, world=world, substitute=substitute), machine)


def load(task: Task, *, machine: Machine, world: bool, substitute: str | None = None) -> TaskData:
    """The examples of a task; `locate` documents their sources.

    Raises `BadInput` that names the file and the row for a missing column, an invalid value (an unknown label, an
    answer that is not in its context, another number of tags than tokens) and an empty split; and if the Hub is needed
    and unreachable.
    """
    return read(locate(task, machine=machine, world=world, substitute=substitute), machine)


def read(located: Located, machine: Machine) -> TaskData:
    """The examples at a location; `load` documents the errors."""
    located = pinned(located, machine)
    known = content_of(located, machine)
    used = located.task
    splits = splits_of(used)
    if located.origin == "microworld":
        values, places, group = _from_world(used)
        named = used.labels
    elif located.folder is not None:
        paths = [files.find(located.folder, split) for split in splits]
        group = _group(used, [files.columns(path) for path in paths]) if used.group else ""
        values = [files.read(path, _columns(used, group)) for path in paths]
        places, named = [str(path) for path in paths], ()
    else:
        values, named, group = _from_hub(located)
        places = [f"{used.hub} {split}" for split in splits]
    for columns, place in zip(values, places, strict=True):
        if not columns[-1]:
            raise BadInput(f"{place} has no rows: task '{located.name}' needs at least one")
    keys = [split.pop(len(used.text)) for split in values] if group else []
    names, found = kinds.find(used.kind).check(used, used.labels or named, values, places)
    if keys:
        found = [
            each.grouped(key, f"{place} column {group}") for each, key, place in zip(found, keys, places, strict=True)
        ]
    train, evaluation, *test = found
    return TaskData(
        name=located.name,
        dataset=used.dataset,
        kind=used.kind,
        labels=names,
        train=train,
        evaluation=evaluation,
        test=test[0] if test else None,
        content=known,
    )


def held_back(data: TaskData) -> TaskData:
    """The task with a keyed eighth of its training examples as its evaluation split, for choosing settings.

    No group is in both splits: whole groups are held back, in a keyed order, up to an eighth of the examples.
    """
    count = len(data.train)
    groups = np.arange(count) if data.train.groups is None else data.train.groups
    sizes = np.bincount(groups)
    order = keyed.permutation(keyed.key("held back"), len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    away = np.isin(groups, order[before < max(1, count // 8)])
    rest, held = np.flatnonzero(~away), np.flatnonzero(away)
    if not len(rest):
        raise BadInput(f"task '{data.name}': its training examples form one group, so none can be held back")
    return dataclasses.replace(data, train=data.train.take(rest), evaluation=data.train.take(held), test=None)


def sampled(data: TaskData, count: int) -> TaskData:
    """The task with keyed samples of at most `count` evaluation and `count` test examples; all for 0.

    Samples are of single examples, not of groups: at equal size, examples of many groups are more informative.
    """

    def sample(part: RawExamples) -> RawExamples:
        order = keyed.permutation(keyed.key("evaluation rows"), len(part))
        return part.take(np.sort(order[:count])) if 0 < count < len(part) else part

    test = None if data.test is None else sample(data.test)
    return dataclasses.replace(data, evaluation=sample(data.evaluation), test=test)


def untested(located: Located) -> str:
    """Why a located task has no test split, and how to add one."""
    dataset, folder = located.task.dataset, located.folder
    if located.origin == "hub" and reference_of(located.task).name in catalog.HIDDEN:
        return f"the Hub hides its labels: give --data DIR with a folder '{dataset}' that has them"
    if folder is not None and not files.has(folder, "test"):
        return f"{folder} has no test{files.SUFFIXES[0]} (or .parquet, .csv, .tsv): add it, or use another data set"
    return f"task '{located.name}' names none: report its evaluation split, or use a Task of your own with `test`"


def splits_of(task: Task) -> list[str]:
    """The splits of a task: training, evaluation and, if it has one, test."""
    return [task.train, task.evaluation, *([task.test] if task.test else [])]


def _check(task: Task, name: str) -> None:
    allowed = kinds.find(task.kind, f"kind of task '{name}'").columns
    if len(task.text) not in allowed:
        raise BadInput(
            f"task '{name}' names {len(task.text)} text columns: {task.kind} takes {allowed[0]}"
            + (f" to {allowed[-1]}" if len(allowed) > 1 else "")
        )


def _substituted(task: Task, name: str, substitute: str, machine: Machine) -> Task:
    named, at, revision = substitute.partition("@")
    if named in catalog.TASKS:
        other = catalog.TASKS[named]
        if other.kind != task.kind:
            raise BadInput(
                f"{name}={substitute}: {name} is {task.kind}, {substitute} is {other.kind}; name one of the same kind"
            )
        if at and not (other.hub and revision):
            raise BadInput(f"{name}={substitute}: {named} has no copy on the Hub, or no revision follows the @")
        return dataclasses.replace(other, hub=f"{reference_of(other).name}@{revision}") if at else other
    if (reference := Reference.parse(substitute)) is not None:
        return dataclasses.replace(
            task, name=substitute, dataset=reference.name, hub=substitute, path="", labels=(), microworld=""
        )
    folder = machine.data / substitute if machine.data is not None else None
    if folder is None or kind(folder, "--data") != "folder":
        there = files.folders(machine.data) if machine.data is not None else []
        raise unknown(f"data set for {name}", substitute, {*catalog.TASKS, *there})
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
    """The content hash of located data, as `TaskData.content`."""
    task = located.task
    if located.origin == "microworld":
        from bertlab import synthetic as microworld

        return f"microworld:{microworld.version(task.microworld)}"
    if located.folder is not None:
        return sources.content([files.find(located.folder, split) for split in splits_of(task)], machine)
    found = pinned(located, machine)
    assert found.hub is not None
    return found.hub.content(splits_of(found.task), task.label)


def pinned(located: Located, machine: Machine) -> Located:
    """A task of the Hub at the current commit of its data set, `test` only if that has the split; others unchanged.

    Raises `BadInput` if the Hub is unreachable and the data set is not cached, or if the data set lacks a split.
    """
    task = located.task
    if located.origin != "hub" or located.hub is not None:
        return located
    what = f"task '{located.name}' ({task.hub})"
    found = hub.dataset(reference_of(task), machine.cache, what, _advice(task))
    there = dict(found.splits)
    for split in (task.train, task.evaluation):
        if split not in there:
            raise unknown(f"split of '{found.name}', the data set of task '{located.name}',", split, there)
    task = dataclasses.replace(task, test=task.test if task.test in there else "")
    return dataclasses.replace(located, task=task, hub=found)


def reference_of(task: Task) -> Reference:
    """The data set of a task on the Hub. Raises `BadInput` for an invalid name."""
    reference = Reference.parse(task.hub)
    if reference is None:
        raise BadInput(f"task '{task.name}' has hub '{task.hub}': write owner/name[:config][@revision]")
    return reference


def _group(task: Task, there: Sequence[Collection[str]]) -> str:
    """The first of the task's group columns that all splits have; empty if there is none."""
    return next((name for name in task.group if all(name in columns for columns in there)), "")


def _columns(task: Task, group: str) -> tuple[str, ...]:
    """The columns of a task: text, the group (if any), the label."""
    return (*task.text, *([group] if group else []), task.label)


def _from_world(task: Task) -> tuple[list[list[list[Any]]], list[str], str]:
    from bertlab import synthetic as microworld

    splits: list[Any] = splits_of(task)
    read = [microworld.rows(task.microworld, split) for split in splits]
    group = _group(task, [rows[0] for rows in read])
    values = [[[row[column] for row in rows] for column in _columns(task, group)] for rows in read]
    return values, [f"microworld {task.microworld} {split}" for split in splits], group


def _from_hub(located: Located) -> tuple[list[list[list[Any]]], tuple[str, ...], str]:
    """The columns of each split, the names of the labels if the Hub declares them, and the group column."""
    task, dataset = located.task, located.hub
    assert dataset is not None
    read = [from_hub(dataset, split, _advice(task)) for split in splits_of(task)]
    group = _group(task, [columns for columns, _ in read])
    wanted = _columns(task, group)
    values: list[list[list[Any]]] = []
    names: tuple[str, ...] = ()
    for split, (columns, declared) in zip(splits_of(task), read, strict=True):
        files.require(f"{dataset.name} {split}", wanted, columns)
        values.append([columns[column] for column in wanted])
        names = declared.get(task.label, names)
        values[-1][-1] = kinds.find(task.kind).named_labels(values[-1][-1], names)
    return values, names, group


def from_hub(dataset: Dataset, split: str, advice: str) -> tuple[dict[str, list[Any]], dict[str, tuple[str, ...]]]:
    """The columns of a split of a data set of the Hub, and the declared names of its label columns."""
    rows = dataset.open(split, advice)
    columns: dict[str, list[Any]] = {}
    try:
        for batch in rows.with_format("arrow").iter(1000):
            for column in batch.column_names:
                columns.setdefault(column, []).extend(batch.column(column).to_pylist())
    except Exception as error:  # the library raises the errors of its readers
        raise hub.unreachable(f"split {split} of '{dataset.name}'", error, advice) from None
    features = {name: getattr(feature, "feature", feature) for name, feature in (rows.features or {}).items()}
    return columns, {name: tuple(each.names) for name, each in features.items() if getattr(each, "names", None)}


def _advice(task: Task) -> str:
    return f"give --data DIR with a folder '{task.dataset}' (`bertlab fetch` writes one)"
