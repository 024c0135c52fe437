"""The README.md of an exported checkpoint: what it is, its recipe, and what was measured on it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from bertlab.adaptation import Adaptation
from bertlab.recipe import Recipe
from bertlab.recipe.identity import science
from bertlab.report.escape import markdown
from bertlab.store.runs import Run, Store


def write(run: Run, recipe: Recipe, store: Store) -> str:
    """The card of a pre-training, with the measurements of it that the store has."""
    result = run.result()
    name = "RoFormer" if recipe.model.positions == "rotary" else "BERT"
    reading = ", left to right" if recipe.causal else ""
    version = run.environment().get("versions", {}).get("bertlab", "")
    lines = [
        "---",
        "library_name: transformers",
        f"tags: [bertlab, {name.lower()}]",
        "---",
        "",
        f"# {markdown(run.label)}",
        "",
        f"A {name} encoder{reading}, run {run.id} of bertlab {markdown(str(version))}.",
        "",
        "## Pre-training",
        "",
        *_table(("figure", "value"), _figures(result)),
        "",
        "## Measurements",
        "",
    ]
    rows = _measurements(run, store)
    if rows:
        heads = ("task", "data set", "split", "method", "fine-tuning seed", "after", "rows", "metrics")
        lines += ["Each fine-tuning seed on each split that was judged; nothing is left out.", "", *_table(heads, rows)]
    else:
        lines.append("None were made.")
    lines += ["", "## Recipe", "", "Fields at their default, BERT's own values, are left out.", "", "```json"]
    # In ASCII and without backticks, no name ends the block.
    lines += [json.dumps(science(recipe), indent=2).replace("`", "\\u0060"), "```", ""]
    return "\n".join(lines)


def _figures(result: dict[str, Any]) -> list[tuple[str, ...]]:
    numbers = ("steps", "tokens", "real_tokens", "parameters", "vocabulary", "unigram_entropy")
    found = {name: result[name] for name in numbers if name in result}
    found |= {f"held out: {name}": value for name, value in result.get("heldout", {}).items()}
    rows = [(name.replace("_", " "), _number(value)) for name, value in found.items()]
    for name in ("checkpoint", "commit", "content", "corpus"):
        if name in result:
            value = result[name]
            rows.append((name, markdown(", ".join(value) if isinstance(value, list) else str(value))))
    return [tuple(row) for row in rows]


def _measurements(run: Run, store: Store) -> list[tuple[str, ...]]:
    rows = []
    for each in store.runs():
        result = each.result()
        if result.get("pretrain_id") != run.id or result.get("split") == "held back":
            continue
        judged = [(result["split"], result["rows"]["evaluation"], result["metrics"])]
        if test := result.get("test"):
            judged.append((test["split"], test["rows"], test["metrics"]))
        rows += [
            (
                *(markdown(str(value)) for value in (result["task"], result["dataset"], split)),
                markdown(_method(result)),
                str(result["finetune_seed"]),
                f"{result['milestone']} %",
                f"{count:,}",
                ", ".join(f"{markdown(name)} {_number(value)}" for name, value in metrics.items()),
            )
            for split, count, metrics in judged
        ]
    return sorted(rows)


def _method(result: dict[str, Any]) -> str:
    """The adaptation, with the fields of its own that are not at their defaults."""
    common = {"kind", *(field.name for field in dataclasses.fields(Adaptation))}
    own = {name: value for name, value in result["settings"].items() if name not in common}
    parts = [name if value is True else f"{name} {value}" for name, value in own.items()]
    collapsed = " (collapsed)" if result["status"] == "collapsed" else ""
    return ", ".join([result["method"], *parts]) + collapsed


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (heads, ("---",) * len(heads), *rows)]
