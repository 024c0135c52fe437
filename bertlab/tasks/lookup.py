"""Looks up the tasks of a request: the catalogue's, their substitutes, their intermediate tasks, and their data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.tasks import catalog, kinds
from bertlab.tasks.data import Located, content_of, locate, pinned
from bertlab.tasks.task import Task


def named(task: str | Task) -> Task:
    """The task itself, or the one of the catalogue with this name. Raises `BadInput` for an unknown name."""
    return task if isinstance(task, Task) else catalog.find(task)


class Tasks:
    """The data of the measured tasks; each is located and hashed once."""

    def __init__(
        self, substitutes: Mapping[str, str], before: Mapping[str, str], machine: Machine, world: bool
    ) -> None:
        """`substitutes` and `before` map names of tasks to their substitutes and to their intermediate tasks."""
        self._substitutes, self._before = substitutes, before
        self._machine, self._world = machine, world
        self._found: dict[tuple[Task, str | None], tuple[Located, str]] = {}

    def find(self, asked: str | Task) -> tuple[Located, str]:
        """The data of a task, or of its substitute, with its content hash."""
        task = named(asked)
        return self._locate(task, self._substitutes.get(task.name))

    def intermediate(self, asked: str | Task) -> tuple[Located | None, str]:
        """The intermediate task of a task, if any. Raises `BadInput` if its labels do not fit the same head."""
        task = named(asked)
        if task.name not in self._before:
            return None, ""
        name = self._before[task.name]
        located, _ = self._locate(task, name)
        labels, ours = located.task.labels, self.find(task)[0].task.labels
        if labels and ours and labels != ours:
            raise BadInput(
                f"--intermediate-task {task.name}={name}: its labels are {labels}, not {ours}: no head fits both"
            )
        named_anywhere = labels or ours or located.origin == "microworld" or not kinds.find(task.kind).labelled
        if not named_anywhere:
            raise BadInput(f"--intermediate-task {task.name}={name}: its labels have no names to match by: name them")
        # It is not evaluated, and its labels have the meaning and the order of the task's.
        before = dataclasses.replace(located.task, evaluation=located.task.train, test="", labels=labels or ours)
        located = dataclasses.replace(located, task=before, name=name)
        return located, content_of(located, self._machine)

    def _locate(self, task: Task, instead: str | None) -> tuple[Located, str]:
        if (task, instead) not in self._found:
            found = pinned(locate(task, machine=self._machine, world=self._world, substitute=instead), self._machine)
            self._found[task, instead] = found, content_of(found, self._machine)
        return self._found[task, instead]
