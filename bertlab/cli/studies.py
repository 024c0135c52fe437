"""`bertlab studies`: lists the studies."""

from typing import Any

from bertlab.cli.console import print_json
from bertlab.cli.options import JSON, Names, argument
from bertlab.cli.table import print_table
from bertlab.names import ALL


def studies(
    study: Names = argument(None, "STUDY", "Only these, or your own study files."),
    json: bool = JSON,
) -> None:
    """List the studies.

    Example: bertlab studies --json
    """
    from bertlab.lab.studies import chosen

    listed: list[dict[str, Any]] = [
        {
            "name": chosen_study.name,
            "question": chosen_study.question,
            "source": chosen_study.source,
            "variants": [variant.name for variant in chosen_study.variants],
            "measurements": [measurement.name for measurement in chosen_study.measurements],
        }
        for chosen_study in chosen(study or [ALL])
    ]
    if json:
        print_json(listed)
        return
    rows = []
    for fields in listed:
        texts = [fields[name] for name in ("name", "question", "source")]
        rows.append([*texts, str(len(fields["variants"])), ", ".join(fields["measurements"])])
    print_table(("study", "question", "source", "variants", "measurements"), rows, left=5)
