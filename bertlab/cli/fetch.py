"""`bertlab fetch`: the tasks of studies, from the Hub to a local mirror for machines that cannot reach it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bertlab.cli import options
from bertlab.cli.console import complain, exit_codes, say


@exit_codes
def fetch(
    study: options.Studies,
    directory: Annotated[Path, typer.Argument(help="The mirror to write, for --data.", metavar="DIR")],
) -> int:
    """Write the rows of the tasks of studies to a mirror that --data reads; what is there already is kept."""
    from bertlab.errors import BadInput
    from bertlab.lab import studies
    from bertlab.machine import Machine
    from bertlab.tasks import catalog, lookup, mirror

    if directory.exists() and not directory.is_dir():
        raise BadInput(f"'{directory}' is not a directory: give one to write the mirror to")
    named = [lookup.named(each.task) for one in studies.chosen(study) for each in one.measurements if each.task]
    tasks = [task for task in dict.fromkeys(named) if not task.path and task.name not in catalog.WORLD]
    if not tasks:
        raise BadInput("the tasks of these studies need no mirror: they are embedded, or files of your own")
    for line in mirror.write((task for task in tasks if task.hub), directory, Machine()):
        say(line)
    absent = [task.name for task in tasks if not task.hub]
    for name in absent:
        complain(f"bertlab: task '{name}' has no copy on the Hub that loads without a script: add a folder for it")
    return 1 if absent else 0
