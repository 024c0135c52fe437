"""`bertlab studies`: lists the studies."""

from __future__ import annotations

from bertlab.cli.console import command, print_json, print_table
from bertlab.cli.options import Json


@command
def studies(json: Json = False) -> None:
    """List the studies."""
    from bertlab.lab.studies import find, names

    found = [find(name) for name in names()]
    texts = [{"name": each.name, "question": each.question, "source": each.source} for each in found]
    variants = [[variant.name for variant in each.variants] for each in found]
    measured = [[measurement.name for measurement in each.measurements] for each in found]
    if json:
        lists = zip(texts, variants, measured, strict=True)
        print_json([text | {"variants": names, "measurements": columns} for text, names, columns in lists])
        return
    print_table(
        ("study", "question", "source", "variants", "measurements"),
        [
            (*text.values(), f"{len(names)}", ", ".join(columns))
            for text, names, columns in zip(texts, variants, measured, strict=True)
        ],
        left=5,
    )
