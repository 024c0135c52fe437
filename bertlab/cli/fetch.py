"""`bertlab fetch`: downloads the tasks of studies from the Hub into a local directory."""

import itertools
from pathlib import Path

from bertlab.cli.console import complain, print_json, say
from bertlab.cli.options import JSON, STUDIES_BEFORE, Names, argument
from bertlab.errors import BadInput


def fetch(
    study: Names = STUDIES_BEFORE,
    directory: Path = argument(..., "DIR", "The directory to write."),
    json: bool = JSON,
) -> int:
    """Download the tasks of studies.

    Serves machines without internet access: other commands read the directory with --data DIR. Keeps existing files.

    Example: bertlab fetch masking nsp data
    """
    from bertlab.lab import studies
    from bertlab.machine import Machine
    from bertlab.names import ALL
    from bertlab.tasks import catalog, kinds, mirror

    if (last := str(directory)) in (ALL, *studies.names()) or last.endswith(".py"):
        raise BadInput(f"'{last}' is a study: name DIR, the directory to write, after the studies")
    if not study:
        raise BadInput(f"STUDY is missing: name studies before the directory '{last}'")
    if directory.exists() and not directory.is_dir():
        raise BadInput(f"'{directory}' is not a directory: name another")
    measurements = itertools.chain.from_iterable(one.measurements for one in studies.chosen(study))
    named = [catalog.find(measurement.task) for measurement in measurements if measurement.task]
    parts = (kinds.find(task.kind).parts(task) for task in named)
    divided = [[*map(catalog.find, names)] or [task] for task, names in zip(named, parts, strict=True)]
    measured = itertools.chain.from_iterable(divided)
    tasks = [task for task in dict.fromkeys(measured) if not task.path and task.name not in catalog.WORLD]
    if not tasks:
        raise BadInput("the tasks of these studies are synthetic or your own files: there is nothing to download")
    for line in mirror.write((task for task in tasks if task.hub), directory, Machine()):
        say(line)
    absent = [task.name for task in tasks if not task.hub]
    for name in absent:
        complain(f"bertlab: task '{name}' has no copy on the Hub that loads without a script: add its files")
    if json:
        fetched = [task.name for task in tasks if task.hub]
        print_json({"directory": str(directory), "fetched": fetched, "absent": absent})
    return 1 if absent else 0
