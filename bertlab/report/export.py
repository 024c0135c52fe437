"""What leaves the store: a checkpoint in the transformers format, or a study's results without weights."""

import dataclasses
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bertlab.adaptation import Adaptation
from bertlab.errors import unknown
from bertlab.names import filename
from bertlab.recipe import Recipe
from bertlab.recipe.identity import load, science
from bertlab.report.pages import render
from bertlab.report.tables import Table
from bertlab.store.files import write_json, write_sealed
from bertlab.store.runs import PRETRAINED, Run, Store


def checkpoint(store: Store, name: str, directory: Path) -> str:
    """Writes the pre-training that `name` names into `directory`; says what it wrote. Raises `BadInput` for no run."""
    run = store.match(name, lambda run: run.kind in PRETRAINED)
    run.verify()
    from bertlab.model.heads import PretrainingModel
    from bertlab.model.interop import huggingface

    recipe = load(Recipe, run.science()["recipe"])
    tokenizer = recipe.tokenizer.load(run.path / recipe.tokenizer.file)
    model = PretrainingModel.of(recipe, tokenizer.size)
    model.load(run.path / "model.safetensors")
    huggingface.write(directory, model, recipe.model, tokenizer)
    (directory / "README.md").write_text(card(run, recipe, store), encoding="utf-8")
    return f"the {'RoFormer' if recipe.model.positions == 'rotary' else 'BERT'} checkpoint of {run.label}"


def results(store: Store, study: str, directory: Path) -> str:
    """Writes the finished runs of a study, or of `all`, into `directory` as a store without weights, which `bertlab
    report` reads.

    Raises `BadInput` for a study that was never run.
    """
    records = store.records(needed=None if study == "all" else [study])
    chosen = {name: record for name, record in records.items() if study in ("all", record["study"])}
    if not chosen:
        raise unknown("study with results", study, sorted({record["study"] for record in records.values()}))
    (directory / "studies").mkdir()
    wanted = set()
    for name, record in chosen.items():
        write_sealed(directory / "studies" / f"{filename(name)}.json", record)
        wanted |= {cell["run_id"] for cell in record["cells"]} | {cell["pretrain_id"] for cell in record["cells"]}
    copied = 0
    for run in store.runs():
        if run.id not in wanted:
            continue
        run.verify()
        target = directory / run.kind / run.path.name
        target.mkdir(parents=True)
        for file in sorted(run.path.glob("*.json*")) + sorted(run.path.glob("*.npz")):
            shutil.copyfile(file, target / file.name)
        facts = {name: each for name, each in run.manifest().items() if (target / name).is_file()}
        write_json(target / "manifest.json", facts)
        copied += 1
    return f"{copied} results of {'all studies' if study == 'all' else study}"


def card(run: Run, recipe: Recipe, store: Store) -> str:
    """The card of a pre-training, with the measurements of it in the store."""
    result = run.result()
    names = ("steps", "tokens", "real_tokens", "parameters", "vocabulary", "unigram_entropy")
    figures = {name.replace("_", " "): result[name] for name in names if name in result}
    figures |= {f"held out: {name.replace('_', ' ')}": value for name, value in result.get("heldout", {}).items()}
    figures |= {name: result[name] for name in ("checkpoint", "commit", "content", "corpus") if name in result}
    columns = ("task", "data set", "split", "method", "fine-tuning seed", "after", "examples", "metrics")
    measurements = sorted(line for each in store.runs() for line in _measurements(each.result(), run.id))
    return render(
        "model_card.md.j2",
        run=run,
        recipe=recipe,
        architecture="RoFormer" if recipe.model.positions == "rotary" else "BERT",
        version=str(run.environment().get("versions", {}).get("bertlab", "")),
        pretraining=Table(("figure", "value"), tuple((name, _text(value)) for name, value in figures.items())),
        measurements=Table(columns, tuple(measurements)),
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
