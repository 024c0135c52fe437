"""`bertlab tasks`: lists the tasks."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from bertlab.cli.console import print_json
from bertlab.cli.options import JSON
from bertlab.cli.table import print_table

if TYPE_CHECKING:
    from bertlab.tasks.task import Task


def tasks(json: bool = JSON) -> None:
    """List the tasks.

    Published tasks come from the Hub or a local mirror (`--data`); on the synthetic corpus, most have a counterpart.

    Example: bertlab tasks --json
    """
    from bertlab.tasks import kinds
    from bertlab.tasks.catalog import TASKS, WORLD
    from bertlab.tasks.kinds.scoring import of_all_examples

    def metrics(task: Task) -> list[str]:
        return of_all_examples(kinds.find(task.kind).metrics_of(task, task.labels))

    if json:
        print_json([dataclasses.asdict(task) | {"metrics": metrics(task)} for task in TASKS.values()])
        return
    rows = []
    for name, task in TASKS.items():
        local = "its tasks" if kinds.find(task.kind).parts(task) else "a local mirror"
        source = "synthetic" if name in WORLD else task.hub or local
        counterpart = "" if name in WORLD else task.microworld
        rows.append((name, task.kind, ", ".join(metrics(task)), source, counterpart))
    print_table(("task", "kind", "metrics", "data set", "synthetic counterpart"), rows, left=5)
