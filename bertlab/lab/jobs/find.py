"""The pre-trained model that a command names: a run of the store, or a published checkpoint."""

from pathlib import Path

from bertlab.errors import BadInput
from bertlab.lab.jobs.base import KINDS, Pretrained
from bertlab.lab.jobs.checkpoint import CheckpointImport
from bertlab.machine import Machine
from bertlab.model.interop.checkpoint import Checkpoint, locate
from bertlab.store import lookup
from bertlab.store.files import kind
from bertlab.store.run import Run
from bertlab.store.runs import Store


def run_or_checkpoint(name: str, store: Store, machine: Machine, what: str) -> Run | Checkpoint:
    """The finished pre-training that `name` names, as `store.lookup.find` does, else the checkpoint: a directory, or on
    the Hub.

    `what` names the option. Raises `BadInput` if there is neither.
    """
    if not name:
        raise BadInput(f"{what} is empty: give a run, a checkpoint's directory or a name on the Hub")
    folder = Path(name)
    if kind(folder, what) == "folder":
        run = str(folder.absolute()) if kind(folder / "manifest.json", what) == "file" else ""
    else:
        run = name if lookup.find_all(store, name) else ""
    return lookup.find(store, run, lambda run: run.holds_model) if run else locate(name, machine, what)


def find_pretrained(name: str, store: Store, machine: Machine) -> Pretrained:
    """The run or the checkpoint that `--from` names, as a job. Raises `BadInput` as `run_or_checkpoint` does."""
    run = run_or_checkpoint(name, store, machine, "--from")
    if isinstance(run, Checkpoint):
        return CheckpointImport(run)
    if "code" in run.definition():
        raise BadInput(f"run {run.id} was trained with the code of a study file: measure it in that study")
    job = KINDS[run.kind].of_run(run)
    if job.id != run.id:
        raise BadInput(f"run {run.id} was trained by another version of bertlab: train it again to measure it")
    return job
