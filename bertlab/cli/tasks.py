"""`bertlab tasks`: lists the tasks."""

import dataclasses

from bertlab.cli.console import print_json
from bertlab.cli.options import JSON
from bertlab.cli.table import print_table


def tasks(json: bool = JSON) -> None:
    """List the tasks.

    Published tasks come from the Hub or from a directory (`--data`); on the synthetic corpus, each has a counterpart.

    Example: bertlab tasks --json
    """
    from bertlab.tasks import kinds
    from bertlab.tasks.catalog import TASKS, WORLD

    if json:
        print_json([dataclasses.asdict(each) | {"metrics": kinds.find(each.kind).metrics} for each in TASKS.values()])
        return
    rows = []
    for name, each in TASKS.items():
        source = "synthetic" if name in WORLD else each.hub or "a directory of yours"
        counterpart = "" if name in WORLD else each.microworld
        rows.append((name, each.kind, ", ".join(kinds.find(each.kind).metrics), source, counterpart))
    print_table(("task", "kind", "metrics", "data set", "synthetic counterpart"), rows, left=5)
