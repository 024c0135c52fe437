"""`bertlab studies`: what there is to run."""

from __future__ import annotations

from bertlab.cli.console import console, exit_codes, print_json
from bertlab.cli.options import Json


@exit_codes
def studies(json: Json = False) -> None:
    """List the studies, with their sources."""
    from bertlab.lab.studies import find, names

    found = [find(name) for name in names()]
    if json:
        print_json(
            [
                {
                    "name": study.name,
                    "question": study.question,
                    "source": study.source,
                    "variants": [variant.name for variant in study.variants],
                    "measurements": [measurement.name for measurement in study.measurements],
                }
                for study in found
            ]
        )
        return
    from rich.table import Table

    table = Table("study", "question", "source", "rows", "columns")
    for study in found:
        rows, columns = str(len(study.variants)), ", ".join(each.name for each in study.measurements)
        table.add_row(study.name, study.question, study.source, rows, columns)
    console().print(table)
