"""`bertlab studies`: lists the studies."""

from __future__ import annotations

from bertlab.cli.console import command, print_json, print_table
from bertlab.cli.options import Json


@command
def studies(json: Json = False) -> None:
    """List the studies."""
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
    print_table(
        ("study", "question", "source", "variants", "measurements"),
        [
            (
                each.name,
                each.question,
                each.source,
                f"{len(each.variants)}",
                ", ".join(m.name for m in each.measurements),
            )
            for each in found
        ],
        left=5,
    )
