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
    from bertlab.recipe.identity import by_kind, leaves
    from bertlab.wording import short

    listed: list[dict[str, Any]] = []
    rows = []
    for name, each in SCALES.items():
        size, tokens = cost.trained_parameters(each.recipe), cost.tokens(each.recipe)
        fields = leaves(each.recipe)
        for group in GROUPS:
            fields |= leaves(getattr(each, group), f"{group}.")
        listed.append(
            {
                "name": name,
                "purpose": each.purpose,
                "parameters": size,
                "tokens": tokens,
                "corpus": each.corpus,
                "claim_seeds": each.claim_seeds,
                "finetune_seeds": each.finetune_seeds,
                "fields": {path: by_kind(leaf) for path, leaf in fields.items() if path not in OPTIONS},
            }
        )
        model, batch = each.recipe.model, each.recipe.schedule.batch_size
        shape = f"{model.layers} layers, {model.hidden} wide: {short(size)}"
        steps = ", ".join(f"{steps:,} steps of {batch:,} x {length}" for length, steps in cost.phases(each.recipe))
        rows.append((name, each.purpose, shape, steps, short(tokens), " + ".join(each.corpus)))
    if json:
        print_json(listed)
        return
    print_table(("scale", "for", "model, parameters", "sequences x tokens", "tokens", "text"), rows, left=6)
