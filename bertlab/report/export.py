"""What leaves the store: a checkpoint in the transformers format, or a study's results without weights."""

import shutil
from pathlib import Path

from bertlab.errors import unknown
from bertlab.names import filename
from bertlab.recipe import Recipe
from bertlab.recipe.identity import load
from bertlab.store.files import digest, write_json, write_sealed
from bertlab.store.runs import PRETRAINED, Store


def checkpoint(store: Store, name: str, directory: Path) -> str:
    """Writes the pre-training that `name` names into `directory`; says what it wrote. Raises `BadInput` for no run."""
    run = store.match(name, lambda run: run.kind in PRETRAINED)
    run.verify()
    from bertlab.model.heads import PretrainingModel
    from bertlab.model.interop import huggingface
    from bertlab.report import model_card

    recipe = load(Recipe, run.science()["recipe"])
    tokenizer = recipe.tokenizer.load(run.path / recipe.tokenizer.file)
    model = PretrainingModel.of(recipe, tokenizer.size)
    model.load(run.path / "model.safetensors")
    huggingface.write(directory, model, recipe.model, tokenizer)
    (directory / "README.md").write_text(model_card.write(run, recipe, store), encoding="utf-8")
    return f"the {'RoFormer' if recipe.model.positions == 'rotary' else 'BERT'} checkpoint of {run.label}"


def results(store: Store, study: str, directory: Path) -> str:
    """Writes the finished runs of a study into `directory` as a store without weights, which `bertlab report` reads.

    Raises `BadInput` for a study that was never run.
    """
    records = store.records(needed=[study])
    chosen = {name: record for name, record in records.items() if record["study"] == study}
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
        names = sorted(path for path in target.iterdir() if path.name != "manifest.json")
        facts = {path.name: {"bytes": path.stat().st_size, "sha256": digest(path)} for path in names}
        write_json(target / "manifest.json", facts)
        copied += 1
    return f"{copied} results of {study}"
