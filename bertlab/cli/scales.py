"""`bertlab scales`: lists the scales."""

from typing import Any

from bertlab.cli.console import print_json
from bertlab.cli.options import JSON
from bertlab.cli.table import print_table


def scales(json: bool = JSON) -> None:
    """List the scales: presets of model, data and training.

    With --json, all their fields.

    Example: bertlab scales --json
    """
    from bertlab.lab.scales import GROUPS, SCALES
    from bertlab.recipe import OPTIONS, cost
    from bertlab.recipe.identity import by_kind, flatten
    from bertlab.wording import format_count

    listed: list[dict[str, Any]] = []
    rows = []
    for name, scale in SCALES.items():
        size, tokens = cost.trained_parameters(scale.recipe), cost.tokens(scale.recipe)
        fields = flatten(scale.recipe)
        for group in GROUPS:
            fields |= flatten(getattr(scale, group), f"{group}.")
        listed.append(
            {
                "name": name,
                "purpose": scale.purpose,
                "parameters": size,
                "tokens": tokens,
                "corpus": scale.corpus,
                "claim_seeds": scale.claim_seeds,
                "finetune_seeds": scale.finetune_seeds,
                "fields": {path: by_kind(leaf) for path, leaf in fields.items() if path not in OPTIONS},
            }
        )
        model, batch = scale.recipe.model, scale.recipe.schedule.batch_size
        shape = f"{model.layers} layers, {model.hidden} wide: {format_count(size)}"
        steps = ", ".join(f"{steps:,} steps of {batch:,} x {length}" for length, steps in cost.phases(scale.recipe))
        rows.append((name, scale.purpose, shape, steps, format_count(tokens), " + ".join(scale.corpus)))
    if json:
        print_json(listed)
        return
    print_table(("scale", "for", "model, parameters", "sequences x tokens", "tokens", "text"), rows, left=6)
