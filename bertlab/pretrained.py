"""What is measured where nothing is to be pre-trained: a run of the store, or a published checkpoint (`--from`)."""

from __future__ import annotations

from pathlib import Path

from bertlab import checkpoint
from bertlab.errors import BadInput
from bertlab.identity import load
from bertlab.jobs import ImportCheckpoint, PrepareCorpus, Pretrain, Pretrained
from bertlab.machine import Machine
from bertlab.recipe import Recipe
from bertlab.store import PRETRAINED, Run, Store


def find(name: str, store: Store, machine: Machine) -> Pretrained:
    """What `name` names: a finished run by its id, label or directory; else a checkpoint's directory or name.

    Raises `BadInput` if there is no such thing.
    """
    folder = Path(name).expanduser()
    if not folder.is_dir() or (folder / "manifest.json").is_file():
        try:
            return _restored(store.match(name, lambda run: run.kind in PRETRAINED))
        except BadInput as error:
            if folder.is_dir() or " is one of " in str(error):
                raise
    return ImportCheckpoint(checkpoint.locate(name, machine))


def _restored(run: Run) -> Pretrained:
    science = run.science()
    if run.kind == "import":
        found = checkpoint.Checkpoint(science["checkpoint"], str(run.result()["checkpoint"]))
        job: Pretrained = ImportCheckpoint(found, fresh=bool(science.get("fresh")))
    else:
        recipe = load(Recipe, science["recipe"])
        job = Pretrain(recipe, PrepareCorpus(recipe.corpus, recipe.tokenizer, ()), run.label)
    if job.id != run.id:
        raise BadInput(f"run {run.id} is of another version of the science: train it again to measure it")
    return job
