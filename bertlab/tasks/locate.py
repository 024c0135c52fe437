"""Finds the data of a task: synthetic, in a local mirror or a user's own folder, or on the Hugging Face Hub.

Local files are `<split>.jsonl`, `.csv` or `.tsv`, each optionally gzipped, or `.parquet`.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from bertlab import hub
from bertlab.errors import BadInput, unknown
from bertlab.hub import Dataset, Reference
from bertlab.machine import Machine
from bertlab.store.files import expanded, kind
from bertlab.tasks import catalog, kinds
from bertlab.tasks.task import Task
from bertlab.text import rows, sources
from bertlab.wording import pluralise


@dataclass(frozen=True, kw_only=True)
class LocatedTask:
    """The location of a task's data, before any is read."""

    task: Task
    """The task with the columns, splits and labels of its data set; `test` only if that has the split."""
    name: str
    """The name of the requested task, not of its substitute."""
    origin: Literal["microworld", "files", "hub"]
    folder: Path | None = None
    hub: Dataset | None = None
    """The data set of the Hub, at its current commit."""
    content: str = ""
    """Identifies the examples: `sha256:...` of local files or `hub:...` of the hashes of the Hub's files, with
    `/<column>=<text>` for a part of them and `/task.<field>=<value>` for fields that say how they are read, or
    `microworld:<version>/<task>`, with `@<version>` of all tasks."""
    parts: tuple["LocatedTask", ...] = ()
    """The tasks of which it is made; none for one with examples of its own."""


def existing(folder: Path, split: str) -> Path | None:
    """The file of a split in a folder, if there is one."""
    return next(iter(_files(folder, split)), None)


def _files(folder: Path, split: str) -> list[Path]:
    paths = (folder / f"{split}{suffix}" for suffix in rows.SUFFIXES)
    return [path for path in paths if kind(path, "task file") == "file"]


def split_file(folder: Path, split: str) -> Path:
    """The file of a split in a folder. If it is missing, `BadInput` lists the files of the folder; if there are two,
    one may be out of date, and `BadInput` names them."""
    paths = _files(folder, split)
    if len(paths) > 1:
        raise BadInput(f"{folder} has {' and '.join(path.name for path in paths)}: keep the one that holds {split}")
    path = next(iter(paths), None)
    if path is None:
        there = ", ".join(sorted(path.name for path in folder.glob("*")))
        raise BadInput(
            f"{folder} has no {split}.jsonl (or .parquet, .csv, .tsv): it has {there or 'nothing'}; add the file "
            "(`bertlab fetch STUDY DIR` writes those of published tasks)"
        )
    return path


def locate(task: Task, *, machine: Machine, world: bool, substitute: str | None = None) -> LocatedTask:
    """Locates the data of a task, or of its substitute.

    The order is: the task's own `path`, with `world` its synthetic counterpart, the mirror `machine.data`, the Hub.
    `substitute` names a task of the catalogue of the same kind, or a folder of the mirror or a data set of the Hub
    (`owner/name[:config]`) with the task's columns; with `@revision` it is always the Hub's. Raises `BadInput` if
    nothing is found, if a split is missing, and if the Hub is needed and unreachable.
    """
    name = task.name or task.dataset or Path(task.path).name or task.hub
    kind_of_task = kinds.find(task.kind, f"kind of task '{name}'")
    columns, name = kind_of_task.columns, name or " + ".join(kind_of_task.parts(task))
    if len(task.text) not in columns:
        allowed = f"{columns[0]} to {columns[-1]}" if len(columns) > 1 else f"{columns[0]}"
        raise BadInput(f"task '{name}' names {pluralise(len(task.text), 'text column')}: {task.kind} takes {allowed}")
    located = _find(task, name, machine, world, substitute)
    return dataclasses.replace(located, content=content_of(located, machine))


def _find(task: Task, name: str, machine: Machine, world: bool, substitute: str | None) -> LocatedTask:
    revised = substitute is not None and ("@" in substitute or "/" in substitute)
    tested = bool(task.test)
    if substitute is not None:
        task = _substituted(task, name, substitute, machine)
        world = world and not task.dataset
    if task.path:
        folder = expanded(task.path, f"task '{name}'")
        if kind(folder, f"task '{name}'") != "folder":
            raise BadInput(f"task '{name}': there is no folder {folder}: give the folder of its files")
        task = dataclasses.replace(task, dataset=task.dataset or folder.name)
        return LocatedTask(task=task, name=name, origin="files", folder=folder)
    if not revised and task.microworld and (world or task.name in catalog.WORLD):
        if task.microworld not in catalog.WORLD:
            raise unknown("microworld task", task.microworld, catalog.WORLD)
        counterpart = catalog.WORLD[task.microworld]
        test = counterpart.test if tested else ""
        counterpart = dataclasses.replace(counterpart, kind=task.kind, test=test)
        return LocatedTask(task=counterpart, name=name, origin="microworld", parts=_parts(counterpart, machine, world))
    if parts := _parts(task, machine, world):
        return LocatedTask(task=task, name=name, origin=parts[0].origin, parts=parts)
    mirrored = machine.data / task.dataset if machine.data is not None and task.dataset else None
    if not revised and mirrored is not None and kind(mirrored, "--data") == "folder":
        test = task.test if existing(mirrored, task.test) else ""
        return LocatedTask(task=dataclasses.replace(task, test=test), name=name, origin="files", folder=mirrored)
    if task.hub:
        task = public(task)
        online = hub.dataset(reference_of(task), machine.cache, f"task '{name}' ({task.hub})", advice(task))
        splits = dict(online.splits)
        for split in splits_of(dataclasses.replace(task, test="")):
            if split not in splits:
                raise unknown(f"split of '{online.name}', the data set of task '{name}',", split, splits)
        task = dataclasses.replace(task, test=task.test if task.test in splits else "")
        return LocatedTask(task=task, name=name, origin="hub", hub=online)
    where = f"{machine.data} has no folder '{task.dataset}'" if machine.data is not None else "no --data was given"
    if substitute is not None:
        lacks = f"data set '{task.dataset}', given for task '{name}', is not known on the Hub"
        raise BadInput(f"{lacks}, and {where}: give --data DIR that has it, or OWNER/NAME of the Hub")
    if not name:  # a task in a study file
        raise BadInput(
            "a task of the study names no data: give path= (a folder of yours) or hub= (a data set of the Hub)"
        )
    lacks = f"task '{name}' has no copy on the Hub that loads without a script"
    raise BadInput(f"{lacks}, and {where}: give --data DIR that has it, or --substitute")


def _parts(task: Task, machine: Machine, world: bool) -> tuple[LocatedTask, ...]:
    """The location of each task of which a task is made, with a test split only if it has one."""
    named = map(catalog.find, kinds.find(task.kind).parts(task))
    tasks = (dataclasses.replace(part, test=part.test if task.test else "") for part in named)
    return tuple(locate(part, machine=machine, world=world) for part in tasks)


def _substituted(task: Task, name: str, substitute: str, machine: Machine) -> Task:
    named, at, revision = substitute.partition("@")
    if named in catalog.TASKS:
        other = catalog.TASKS[named]
        if kinds.find(task.kind).base_kind != other.kind:
            kinds_of = f"{name} is {task.kind}, {substitute} is {other.kind}"
            raise BadInput(f"{name}={substitute}: {kinds_of}; name one of the same kind")
        if at and not (other.hub and revision):
            raise BadInput(f"{name}={substitute}: {named} has no copy on the Hub, or no revision follows the @")
        hub_name = f"{reference_of(other).name}@{revision}" if at else other.hub
        return dataclasses.replace(other, kind=task.kind, hub=hub_name)
    substitute_task = dataclasses.replace(
        task, name=substitute, dataset=substitute, hub="", path="", only={}, labels=(), microworld="",
        columns=(), quoted=None, counted_from=None,
    )  # fmt: skip
    if (reference := Reference.parse(substitute)) is not None:
        return dataclasses.replace(substitute_task, dataset=reference.name, hub=substitute)
    folder = machine.data / substitute if machine.data is not None else None
    if folder is None or kind(folder, "--data") != "folder":
        there = [directory.name for directory in machine.data.glob("*/")] if machine.data is not None else []
        raise unknown(f"data set for {name} (neither built in nor in --data)", substitute, {*catalog.TASKS, *there})
    return (
        substitute_task
        if existing(folder, task.evaluation)
        else dataclasses.replace(substitute_task, evaluation="validation")
    )


def reference_of(task: Task) -> Reference:
    """The data set of a task on the Hub. Raises `BadInput` for an invalid name."""
    reference = Reference.parse(task.hub)
    if reference is None:
        raise BadInput(f"task '{task.name}' has hub '{task.hub}': write owner/name[:config][@revision]")
    return reference


def public(task: Task) -> Task:
    """The task of the Hub, without a test split whose labels the Hub hides. Raises as `reference_of` does."""
    hidden = reference_of(task).name == "nyu-mll/glue:stsb"  # they are public, but missing from the Hub's copy
    return dataclasses.replace(task, test="") if hidden else task


def advice(task: Task) -> str:
    """The advice of an error if the Hub is unreachable."""
    return f"give --data DIR with a folder '{task.dataset}' (`bertlab fetch` writes one)"


def splits_of(task: Task) -> list[str]:
    """The splits of a task: training, if its kind has that, evaluation and, if there is one, test."""
    kind = kinds.KINDS.get(task.kind)  # none in a report, which runs no study file
    training = [task.train] if kind is None or kind.trained else []
    return [*training, task.evaluation, *([task.test] if task.test else [])]


def content_of(located: LocatedTask, machine: Machine) -> str:
    """The present content of located data, as `LocatedTask.content`."""
    task = located.task
    if located.parts:
        digest = hashlib.sha256("\n".join(content_of(part, machine) for part in located.parts).encode()).hexdigest()
        return f"{'microworld' if located.origin == 'microworld' else 'sha256'}:{digest}"
    part = "".join(f"/{name}={value}" for name, value in sorted(task.only.items()))
    for name in ("columns", "counted_from", "quoted", "unlabelled"):
        if (value := getattr(task, name)) not in (None, ()):
            part += f"/task.{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
    if located.folder is not None:
        return sources.content([split_file(located.folder, split) for split in splits_of(task)], machine) + part
    if located.hub is not None:
        return located.hub.content(splits_of(task), task.label) + part
    from bertlab import synthetic as microworld

    return f"microworld:{microworld.version(task.microworld)}"


@dataclass(frozen=True)
class Tasks:
    """The data of the measured tasks; each is located and hashed once."""

    substitutes: Mapping[str, str]
    """The substitutes of tasks, by the names of these."""
    intermediates: Mapping[str, str]
    """The tasks that are fine-tuned on before others, by the names of the latter."""
    machine: Machine
    world: bool
    """Whether tasks are replaced by their synthetic counterparts."""
    counterparts: Mapping[str, str] = field(default_factory=dict)
    """The synthetic counterparts that the scale uses in place of the usual ones."""

    @cached_property
    def _locate(self) -> Callable[..., LocatedTask]:
        return functools.cache(functools.partial(locate, machine=self.machine, world=self.world))

    def find(self, name: str | Task) -> LocatedTask:
        """The data of a task, or of its substitute."""
        task = catalog.find(name)
        substitute = self.substitutes.get(task.name)
        if substitute is None and task.name in self.counterparts:
            task = dataclasses.replace(task, microworld=self.counterparts[task.name])
        return self._locate(task, substitute=substitute)

    def intermediate(self, name: str | Task) -> LocatedTask | None:
        """The data of a task's intermediate task, if any: with `world` its synthetic counterpart, as of the task.

        Raises `BadInput` if its labels do not fit the same head.
        """
        task = catalog.find(name)
        if task.name not in self.intermediates:
            return None
        first = self.intermediates[task.name]
        option = f"--intermediate-task {task.name}={first}"
        named = catalog.TASKS.get(first)
        if self.world and named is not None and named.kind == task.kind:
            first = named.microworld or first
        located = self._locate(task, substitute=first)
        labels, ours = located.task.labels, self.find(task).task.labels
        if labels and ours and labels != ours:
            raise BadInput(f"{option}: its labels are {labels}, not {ours}: no head fits both")
        if not labels and not ours and located.origin != "microworld" and kinds.find(task.kind).labelled:
            raise BadInput(f"{option}: its labels have no names to match by: name them")
        # It is not evaluated, and its labels have the meaning and the order of the task's.
        before = dataclasses.replace(located.task, evaluation=located.task.train, test="", labels=labels or ours)
        located = dataclasses.replace(located, task=before, name=first)
        return dataclasses.replace(located, content=content_of(located, self.machine))
