"""Checkpoints that a run resumes from exactly: safetensors and JSON, written beside, synced, renamed, verified.

    checkpoint/step-00000400/   weights.safetensors  optimizer.safetensors  state.json (the Trainer's, what was trained)

The state holds the SHA-256 of both files and of the curve and milestones written so far, so a run resumes from exactly
these. The previous checkpoint stays until the next one is verified. Batches and dropout are functions of the step, so a
checkpoint has no state of a random generator.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lightning.pytorch.plugins.io import CheckpointIO
from safetensors.torch import load_file
from safetensors.torch import save as serialised
from torch import Tensor

from bertlab.errors import RunFailed
from bertlab.store.files import digest, read_sealed
from bertlab.store.runs import CHECKPOINT
from bertlab.store.writes import sync, write_sealed


@dataclass(frozen=True)
class SavedState:
    """A verified checkpoint on disk."""

    path: Path
    state: dict[str, Any]

    @property
    def step(self) -> int:
        """Updates done."""
        return int(self.state["step"])


def path(work: Path, step: int) -> Path:
    """Where the checkpoint after `step` updates lies."""
    return work / CHECKPOINT / f"step-{step:08d}"


class SafetensorsIO(CheckpointIO):
    """Writes and reads the checkpoints of a `Trainer` as safetensors and JSON."""

    def __init__(self, work: Path, trained: str) -> None:
        """`trained` names the recipe and the text; `work` is the directory of the run."""
        self.work, self.trained = work, trained

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Writes what `Trainer.save_checkpoint` gives, and removes older checkpoints once this one is verified.

        Raises `RunFailed`, and writes nothing, if a weight is not finite; `Unwritable` where there is no room.
        """
        final = Path(path)
        folder, step = final.parent, checkpoint["global_step"]
        folder.mkdir(exist_ok=True)
        if final.exists():
            there = _verified(final, self.work)
            if there is not None and there.state["trained"] == self.trained:
                return
            shutil.rmtree(final)
        weights: dict[str, Tensor] = checkpoint.pop("state_dict")
        checkpoint.pop("hyper_parameters", None)  # the store has the recipe
        if not all(bool(value.isfinite().all()) for value in weights.values()):
            raise RunFailed(f"diverged at step {step}: a weight is not finite", status="diverged")
        beside = folder / ".part"
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        moments: dict[str, Tensor] = {}
        state = _without_tensors(checkpoint, moments, "")
        files = {}
        for name, tensors in (("weights.safetensors", weights), ("optimizer.safetensors", moments)):
            whole = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
            (beside / name).write_bytes(serialised(whole))
            sync(beside / name)
            files[name] = digest(beside / name)
        # The parts of its result that the run has written so far: the curve, which grows, and weights of milestones.
        written = [*self.work.glob("metrics.jsonl"), *sorted(self.work.glob("milestones/step-*.safetensors"))]
        left = {file.relative_to(self.work).as_posix(): _left(file, file.stat()) for file in written}
        record = {"step": step, "trained": self.trained, "trainer": state, "sha256_of": files, "left": left}
        write_sealed(beside, "state.json", record)
        beside.rename(final)
        sync(folder)
        if _verified(final) is not None:
            for older in folder.glob("step-*"):
                if older != final:
                    shutil.rmtree(older)

    def load_checkpoint(self, path: Any, map_location: Any = None, weights_only: bool | None = None) -> dict[str, Any]:
        """Returns what `save_checkpoint` received, equal to the bit, on the CPU."""
        directory = Path(path)
        moments = load_file(directory / "optimizer.safetensors")
        checkpoint: dict[str, Any] = _with_tensors(read_sealed(directory / "state.json")["trainer"], moments)
        for optimizer in checkpoint["optimizer_states"]:
            optimizer["state"] = {int(number): state for number, state in optimizer["state"].items()}
        return checkpoint | {"state_dict": load_file(directory / "weights.safetensors")}

    def remove_checkpoint(self, path: Any) -> None:
        """Removes a checkpoint."""
        shutil.rmtree(path)


_TENSOR = "tensor:"
"""Prefix of the string that replaces a tensor in a state; its name follows."""


def _without_tensors(value: Any, tensors: dict[str, Tensor], name: str) -> Any:
    """`value` for JSON; moves each tensor in it to `tensors`, under its path."""
    if isinstance(value, Tensor):
        tensors[name] = value
        return _TENSOR + name
    if isinstance(value, Mapping):
        return {str(key): _without_tensors(part, tensors, f"{name}/{key}") for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_tensors(part, tensors, f"{name}/{index}") for index, part in enumerate(value)]
    return value


def _with_tensors(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    if isinstance(value, str) and value.startswith(_TENSOR):
        return tensors[value.removeprefix(_TENSOR)]
    if isinstance(value, dict):
        return {key: _with_tensors(part, tensors) for key, part in value.items()}
    return [_with_tensors(part, tensors) for part in value] if isinstance(value, list) else value


def newest(work: Path, trained: str | None = None) -> SavedState | None:
    """The newest checkpoint under `work` whose files, curve and milestones are all as they were written.

    Skips damaged checkpoints and, if `trained` is given, those of another recipe or text.
    """
    for path in sorted((work / CHECKPOINT).glob("step-*"), reverse=True):
        saved = _verified(path, work)
        if saved is not None and trained in (None, saved.state["trained"]):
            return saved
    return None


def _verified(path: Path, work: Path | None = None) -> SavedState | None:
    """A checkpoint whose files and, given `work`, those that were written before it are unchanged."""
    try:
        state = read_sealed(path / "state.json")
        same = all(digest(path / name) == sha256 for name, sha256 in state["sha256_of"].items())
        if same and work is not None:
            left = state["left"].items()
            same = all(digest(work / name, facts["bytes"]) == facts["sha256"] for name, facts in left)
    except (OSError, ValueError, KeyError):
        return None
    return SavedState(path, state) if same else None


@cache
def _left(path: Path, facts: os.stat_result) -> dict[str, Any]:
    """Size and SHA-256 of a file that was written before a checkpoint, after syncing it; cached by its state."""
    sync(path)
    return {"bytes": facts.st_size, "sha256": digest(path)}
