"""Checkpoints that a run resumes from exactly: safetensors and JSON, written beside, synced, renamed, verified.

    checkpoint/step-00000400/   weights.safetensors  optimizer.safetensors  state.json (step, sums, SHA-256 of both)

The last good one stays until the next is verified. Batches and dropout are functions of the step, so there is no
state of a random generator to keep.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bertlab.store import digest, read_json, sync_directory, write_json


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
    """Writes a checkpoint of `module` and `optimizer` under `work` and removes the older ones once it is verified."""
    folder = work / "checkpoint"
    folder.mkdir(exist_ok=True)
    final = folder / f"step-{state['step']:08d}"
    if final.exists():
        return
    beside = folder / ".part"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    save_tensors(dict(module.named_parameters()), beside / "weights.safetensors")
    save_tensors(_moments(module, optimizer), beside / "optimizer.safetensors")
    hashes = {name: digest(beside / name) for name in ("weights.safetensors", "optimizer.safetensors")}
    write_json(beside / "state.json", {**state, "sha256": hashes})
    beside.rename(final)
    sync_directory(folder)
    if _verified(final) is not None:
        for older in folder.glob("step-*"):
            if older != final:
                shutil.rmtree(older)


def newest(work: Path) -> Checkpoint | None:
    """The newest checkpoint under `work` whose files are as they were written; damaged ones are passed over."""
    for path in sorted((work / "checkpoint").glob("step-*"), reverse=True):
        found = _verified(path)
        if found is not None:
            return found
    return None


def restore(checkpoint: Checkpoint, module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Puts the weights and the optimiser's moments of a checkpoint back, bit by bit."""
    load_tensors(checkpoint.path / "weights.safetensors", dict(module.named_parameters()))
    moments = load_file(checkpoint.path / "optimizer.safetensors")
    for name, parameter in module.named_parameters():
        kept = {key.partition(":")[0]: value for key, value in moments.items() if key.partition(":")[2] == name}
        # The count of steps stays on the CPU unless the optimiser is fused on a GPU; torch moves the moments itself.
        optimizer.state[parameter] = {
            key: value.to(parameter.device) if value.dim() or parameter.is_cuda else value
            for key, value in kept.items()
        }


def save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    """Writes tensors as safetensors and syncs the file."""
    save_file({name: value.detach().cpu().contiguous() for name, value in tensors.items()}, path)
    with path.open("rb") as file:
        os.fsync(file.fileno())


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
        state = read_json(path / "state.json")
        whole = all(digest(path / name) == sha256 for name, sha256 in state["sha256"].items())
    except (OSError, ValueError, KeyError):
        return None
    return Checkpoint(path, state) if whole else None
