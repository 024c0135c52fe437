"""`bertlab fetch`: downloads the tasks of studies from the Hub into a local mirror."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bertlab.cli.console import command, complain, say
from bertlab.cli.options import StudyNames


@command
def fetch(
    study: StudyNames,
    directory: Annotated[Path, typer.Argument(help="The mirror.", metavar="DIR")],
) -> int:
    """Download the tasks of studies into a mirror for --data.

    Keeps the files that the mirror has already. For machines that cannot reach the Hub.
    """
    from bertlab.errors import BadInput
    from bertlab.lab import studies
    from bertlab.machine import Machine
    from bertlab.tasks import catalog, lookup, mirror

    if directory.exists() and not directory.is_dir():
        raise BadInput(f"'{directory}' is not a directory: name one for the mirror")
    named = [lookup.named(each.task) for one in studies.chosen(study) for each in one.measurements if each.task]
    tasks = [task for task in dict.fromkeys(named) if not task.path and task.name not in catalog.WORLD]
    if not tasks:
        raise BadInput("the tasks of these studies need no mirror: they are synthetic or your own files")
    for line in mirror.write((task for task in tasks if task.hub), directory, Machine()):
        say(line)
    absent = [task.name for task in tasks if not task.hub]
    for name in absent:
        complain(f"bertlab: task '{name}' has no copy on the Hub that loads without a script: add its files")
    return 1 if absent else 0
