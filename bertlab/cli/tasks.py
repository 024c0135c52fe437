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

    def known(task: Task) -> tuple[str, ...]:
        return kinds.find(task.kind).metrics_of(task, task.labels)

    if json:
        print_json([dataclasses.asdict(each) | {"metrics": known(each)} for each in TASKS.values()])
        return
    rows = []
    for name, each in TASKS.items():
        source = "synthetic" if name in WORLD else each.hub or "a local mirror"
        counterpart = "" if name in WORLD else each.microworld
        rows.append((name, each.kind, ", ".join(known(each)), source, counterpart))
    print_table(("task", "kind", "metrics", "data set", "synthetic counterpart"), rows, left=5)
