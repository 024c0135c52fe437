"""The README.md of an exported checkpoint: what it is, its recipe, and what was measured on it."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from bertlab.adaptation import Adaptation
from bertlab.recipe import Recipe
from bertlab.recipe.identity import science
from bertlab.report.pages import render
from bertlab.report.tables import Table
from bertlab.store.runs import Run, Store

COLUMNS = ("task", "data set", "split", "method", "fine-tuning seed", "after", "examples", "metrics")


def write(run: Run, recipe: Recipe, store: Store) -> str:
    """The card of a pre-training, with the measurements of it in the store."""
    measurements = sorted(line for each in store.runs() for line in _measurements(each, run.id))
    return render(
        "model_card.md.j2",
        run=run,
        recipe=recipe,
        architecture="RoFormer" if recipe.model.positions == "rotary" else "BERT",
        version=str(run.environment().get("versions", {}).get("bertlab", "")),
        pretraining=Table(("figure", "value"), tuple(_figures(run.result()))),
        measurements=Table(COLUMNS, tuple(measurements)),
        # in ASCII and without backticks, no name ends the block
        science=json.dumps(science(recipe), indent=2).replace("`", "\\u0060"),
    )


def _figures(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    numbers = ("steps", "tokens", "real_tokens", "parameters", "vocabulary", "unigram_entropy")
    found = {name: result[name] for name in numbers if name in result}
    found |= {f"held out: {name}": value for name, value in result.get("heldout", {}).items()}
    found |= {name: result[name] for name in ("checkpoint", "commit", "content", "corpus") if name in result}
    for name, value in found.items():
        yield name.replace("_", " "), ", ".join(value) if isinstance(value, list) else _text(value)


def _measurements(run: Run, pretrain_id: str) -> Iterator[tuple[str, ...]]:
    """A line for each split on which a run evaluates a pre-training."""
    result = run.result()
    if result.get("pretrain_id") != pretrain_id or result.get("split") == "held back":
        return
    splits = [(result["split"], result["rows"]["evaluation"], result["metrics"])]
    if test := result.get("test"):
        splits.append((test["split"], test["rows"], test["metrics"]))
    for split, examples, metrics in splits:
        values = ", ".join(f"{name} {_text(value)}" for name, value in metrics.items())
        about = (result["task"], result["dataset"], split, _method(result), result["finetune_seed"])
        yield (*map(str, about), f"{result['milestone']} %", f"{examples:,}", values)


def _method(result: dict[str, Any]) -> str:
    """The adaptation, with the fields of its own that are not at their defaults."""
    common = {"kind", *(field.name for field in dataclasses.fields(Adaptation))}
    own = {name: value for name, value in result["settings"].items() if name not in common}
    parts = [name if value is True else f"{name} {value}" for name, value in own.items()]
    collapsed = " (collapsed)" if result["status"] == "collapsed" else ""
    return ", ".join([result["method"], *parts]) + collapsed


def _text(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
