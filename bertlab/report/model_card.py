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
    result = run.result()
    names = ("steps", "tokens", "real_tokens", "parameters", "vocabulary", "unigram_entropy")
    figures = {name.replace("_", " "): result[name] for name in names if name in result}
    figures |= {f"held out: {name.replace('_', ' ')}": value for name, value in result.get("heldout", {}).items()}
    figures |= {name: result[name] for name in ("checkpoint", "commit", "content", "corpus") if name in result}
    measurements = sorted(line for each in store.runs() for line in _measurements(each.result(), run.id))
    return render(
        "model_card.md.j2",
        run=run,
        recipe=recipe,
        architecture="RoFormer" if recipe.model.positions == "rotary" else "BERT",
        version=str(run.environment().get("versions", {}).get("bertlab", "")),
        pretraining=Table(("figure", "value"), tuple((name, _text(value)) for name, value in figures.items())),
        measurements=Table(COLUMNS, tuple(measurements)),
        # in ASCII and without backticks, no name ends the block
        science=json.dumps(science(recipe), indent=2).replace("`", "\\u0060"),
    )


def _measurements(result: dict[str, Any], pretrain_id: str) -> Iterator[tuple[str, ...]]:
    """A line for each split on which the run of a result evaluates a pre-training."""
    if result.get("pretrain_id") != pretrain_id or result.get("split") == "held back":
        return
    common = {"kind", *(field.name for field in dataclasses.fields(Adaptation))}
    own = {name: value for name, value in result["settings"].items() if name not in common}
    settings = (name if value is True else f"{name} {value}" for name, value in own.items())
    method = ", ".join([result["method"], *settings])
    if result["status"] == "collapsed":
        method += " (collapsed)"
    splits = [(result["split"], result["rows"]["evaluation"], result["metrics"])]
    if test := result.get("test"):
        splits.append((test["split"], test["rows"], test["metrics"]))
    for split, examples, metrics in splits:
        values = ", ".join(f"{name} {_text(value)}" for name, value in metrics.items())
        about = (result["task"], result["dataset"], split, method, result["finetune_seed"])
        yield (*map(str, about), f"{result['milestone']} %", f"{examples:,}", values)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
