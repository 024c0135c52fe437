"""The tasks with a name, read from `catalog.toml`: the tasks of BERT's tables and their synthetic counterparts."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertlab.errors import unknown
from bertlab.tasks.task import Task

_TABLES = tomllib.loads(Path(__file__).with_name("catalog.toml").read_text(encoding="utf-8"))


def _task(name: str, fields: Mapping[str, Any]) -> Task:
    like = _TABLES["published"][fields["like"]] if "like" in fields else {}
    other_fields = {key: field for key, field in fields.items() if key != "like"}
    fields = {"name": name, "dataset": fields.get("like", name)} | like | other_fields
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
    return Task(**values)


WORLD = {
    name: _task(name, fields | {"dataset": "microworld", "test": "test", "microworld": name})
    for name, fields in _TABLES["synthetic"].items()
}
"""The synthetic tasks by name."""

TASKS = WORLD | {name: _task(name, fields) for name, fields in _TABLES["published"].items()}
"""Every task by its name."""


def find(task: str | Task) -> Task:
    """The task of this name, or the given task itself. Raises `BadInput` with the nearest name for an unknown name."""
    if isinstance(task, Task):
        return task
    if task not in TASKS:
        raise unknown("task", task, TASKS)
    return TASKS[task]
