"""`bertlab studies`: lists the studies."""

from typing import Any

from bertlab.cli.console import print_json
from bertlab.cli.options import JSON, Names, argument
from bertlab.cli.table import print_table
from bertlab.names import ALL


def studies(study: Names = argument(None, "STUDY", "Only these, or your own study files."), json: bool = JSON) -> None:
    """List the studies.

    Example: bertlab studies --json
    """
    from bertlab.lab.studies import chosen

    listed = []
    for one in chosen(study or [ALL]):
        names = {part: [member.name for member in getattr(one, part)] for part in ("variants", "measurements")}
        listed.append({"name": one.name, "question": one.question, "source": one.source, **names})
    if json:
        print_json(listed)
        return
    rows = [
        [*texts, str(len(variants)), ", ".join(measurements)]
        for *texts, variants, measurements in map(dict[str, Any].values, listed)
    ]
    print_table(("study", "question", "source", "variants", "measurements"), rows, left=5)
