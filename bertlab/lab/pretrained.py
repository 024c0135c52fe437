"""The model of `--from`: a run of the store, or a published checkpoint."""

from pathlib import Path

from bertlab.errors import BadInput
from bertlab.lab.jobs import ImportCheckpoint, PrepareCorpus, Pretrain, Pretrained
from bertlab.machine import Machine
from bertlab.model.interop import checkpoint
from bertlab.recipe import Recipe
from bertlab.recipe.identity import load
from bertlab.store.files import kind
from bertlab.store.runs import PRETRAINED, Run, Store


def find(name: str, store: Store, machine: Machine) -> Pretrained:
    """The finished run with this id, label or directory; else the checkpoint with this directory or name.

    Raises `BadInput` if there is none.
    """
    if not name:
        raise BadInput("--from is empty: give a run, a checkpoint's directory or a name on the Hub")
    folder = Path(name)

    def pretrained(run: Run) -> bool:
        return run.kind in PRETRAINED

    if kind(folder, "--from") == "folder":
        given = str(folder.absolute()) if kind(folder / "manifest.json", "--from") == "file" else ""
    else:
        given = name if "/" not in name and store.matches(name, pretrained) else ""
    if not given:
        return ImportCheckpoint(checkpoint.locate(name, machine))
    run = store.match(given, pretrained)
    science = run.science()
    if run.kind == "import":
        result = run.result()
        found = checkpoint.Checkpoint(science["checkpoint"], result["checkpoint"], commit=result.get("commit", ""))
        job: Pretrained = ImportCheckpoint(found, fresh=bool(science.get("fresh")))
    else:
        recipe = load(Recipe, science["recipe"])
        corpus = PrepareCorpus(recipe.corpus, recipe.tokenizer, ())
        kept = {int(path.stem.removeprefix("step-")) for path in (run.path / "milestones").glob("step-*.safetensors")}
        milestones = tuple(each for each in range(1, 101) if each == 100 or recipe.schedule.milestone(each) in kept)
        job = Pretrain(recipe, corpus, run.label.removesuffix(f"-seed{recipe.seed}"), milestones)
    if "code" in science:
        raise BadInput(f"run {run.id} was trained with the code of a study file: measure it in that study")
    if job.id != run.id:
        raise BadInput(f"run {run.id} was trained by another version of bertlab: train it again to measure it")
    return job
