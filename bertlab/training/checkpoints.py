"""Checkpoints that a run resumes from exactly: safetensors and JSON, written beside, synced, renamed, verified.

    checkpoint/step-00000400/   weights.safetensors  optimizer.safetensors  state.json (step, sums, what was trained)

The state holds the SHA-256 of both and of all that the run has left so far, curves and milestones: what is resumed is
what was there. The last good one stays until the next is verified. Batches and dropout are functions of the step, so
there is no state of a random generator to keep.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from safetensors.torch import save as serialised
from torch import Tensor, nn

from bertlab.errors import RunFailed
from bertlab.store.faults import point
from bertlab.store.files import digest, read_sealed, sync, sync_directory, write_sealed
from bertlab.store.runs import CHECKPOINT


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint on disk."""

    path: Path
    state: dict[str, Any]

    @property
    def step(self) -> int:
        """Updates done."""
        return int(self.state["step"])


def save(work: Path, module: nn.Module, optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Writes a checkpoint of `module` and `optimizer` under `work` and removes the older ones once it is verified.

    `state` has the `step` and, as `trained`, a name of what is trained. Raises `RunFailed`, and writes nothing, if a
    weight is not finite; `Unwritable` where there is no room.
    """
    folder = work / CHECKPOINT
    folder.mkdir(exist_ok=True)
    final = folder / f"step-{state['step']:08d}"
    if final.exists():
        there = _verified(final)
        if there is not None and there.state["trained"] == state["trained"] and _follows(there, work):
            return
        shutil.rmtree(final)
    point("checkpoint.begin")
    weights: dict[str, Tensor] = dict(module.named_parameters())
    if not all(bool(value.isfinite().all()) for value in weights.values()):
        raise RunFailed(f"diverged at step {state['step']}: a weight is not finite", status="diverged")
    beside = folder / ".part"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    point("checkpoint.weights")
    save_tensors(weights, beside / "weights.safetensors")
    point("checkpoint.optimizer")
    save_tensors(_moments(module, optimizer), beside / "optimizer.safetensors")
    files = {name: digest(beside / name) for name in ("weights.safetensors", "optimizer.safetensors")}
    left = {path.relative_to(work).as_posix(): _left(path, path.stat()) for path in _written(work)}
    point("checkpoint.state")
    write_sealed(beside / "state.json", {**state, "sha256_of": files, "left": left})
    point("checkpoint.rename")
    beside.rename(final)
    point("checkpoint.renamed")
    sync_directory(folder)
    if _verified(final) is not None:
        for older in folder.glob("step-*"):
            if older != final:
                point("checkpoint.older")
                shutil.rmtree(older)


def newest(work: Path, trained: str | None = None) -> Checkpoint | None:
    """The newest checkpoint under `work` that is as it was written, as is all that the run had left before it.

    Damaged ones are passed over and, if `trained` is given, those of another recipe or text.
    """
    for path in sorted((work / CHECKPOINT).glob("step-*"), reverse=True):
        found = _verified(path)
        if found is None or not _follows(found, work):
            continue
        if trained is None or found.state["trained"] == trained:
            return found
    return None


def restore(checkpoint: Checkpoint, module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Puts the weights and the optimiser's moments of a checkpoint back, bit by bit."""
    load_tensors(checkpoint.path / "weights.safetensors", dict(module.named_parameters()))
    moments = load_file(checkpoint.path / "optimizer.safetensors")
    for name, parameter in module.named_parameters():
        kept = {key.partition(":")[0]: value for key, value in moments.items() if key.partition(":")[2] == name}
        # The count of steps stays on the CPU unless the optimiser is fused on a GPU; torch moves the moments itself.
        optimizer.state[parameter].update(
            (key, value.to(parameter.device) if value.dim() or parameter.is_cuda else value)
            for key, value in kept.items()
        )


def save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    """Writes tensors as safetensors and syncs the file."""
    path.write_bytes(serialised({name: value.detach().cpu().contiguous() for name, value in tensors.items()}))
    sync(path)


def load_tensors(path: Path, into: dict[str, Tensor]) -> None:
    """Copies tensors of a safetensors file into tensors of the same names and shapes."""
    kept = load_file(path)
    if kept.keys() != into.keys():
        raise ValueError(f"{path} holds other weights: {sorted(kept.keys() ^ into.keys())[:3]}")
    with torch.no_grad():
        for name, value in into.items():
            value.copy_(kept[name])


def _moments(module: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"{key}:{name}": value
        for name, parameter in module.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def _verified(path: Path) -> Checkpoint | None:
    try:
        state = read_sealed(path / "state.json")
        whole = all(digest(path / name) == sha256 for name, sha256 in state["sha256_of"].items())
    except (OSError, ValueError, KeyError):
        return None
    return Checkpoint(path, state) if whole else None


def _written(work: Path) -> list[Path]:
    """What a run has left of its result so far: curves, which grow, and weights."""
    return [*work.glob("metrics.jsonl"), *sorted((work / "milestones").glob("step-*.safetensors"))]


@cache
def _left(path: Path, facts: os.stat_result) -> dict[str, Any]:
    """Size and SHA-256 of a file that was written before a checkpoint, synced with it; once for each state of it."""
    sync(path)
    return {"bytes": facts.st_size, "sha256": digest(path)}


def _follows(checkpoint: Checkpoint, work: Path) -> bool:
    """Whether all that was written before a checkpoint is there, as it was."""
    try:
        left = checkpoint.state["left"].items()
        return all(digest(work / name, facts["bytes"]) == facts["sha256"] for name, facts in left)
    except OSError:
        return False
