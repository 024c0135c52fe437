"""Trunks: the first steps that several pre-trainings share, trained once. Each of these goes on from the state at their
end, and has the bits and the curve that it has alone.

    state/step-00001440/   a checkpoint, with the losses of every step and the held-out figures of milestones
    milestones/            the weights of milestones, as a pre-training has them
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer

from bertlab.errors import RunFailed
from bertlab.store.files import read_json, read_sealed
from bertlab.store.result import Trunks
from bertlab.store.run import STATE, TRUNKS
from bertlab.store.schema import to_json
from bertlab.store.writes import copy, write_json
from bertlab.training.callbacks import RunDirectory
from bertlab.training.checkpoints import SavedState
from bertlab.training.process_group import ProcessGroup


@dataclass
class History:
    """What a training has logged so far, step by step, from which others make their own curves."""

    losses: list[list[float]] = field(default_factory=list)
    """The losses of the objective at each step."""
    heldout: dict[int, dict[str, float]] = field(default_factory=dict)
    """The held-out figures of milestones, by their steps."""

    def to_state(self) -> dict[str, Any]:
        """Tensors in float64, for a checkpoint."""
        heldout = {
            str(step): {name: torch.tensor(value, dtype=torch.float64) for name, value in figures.items()}
            for step, figures in self.heldout.items()
        }
        return {"losses": torch.tensor(self.losses, dtype=torch.float64), "heldout": heldout}

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> "History":
        """The inverse of `to_state`."""
        heldout = {
            int(step): {name: float(value) for name, value in figures.items()}
            for step, figures in state["heldout"].items()
        }
        return cls(state["losses"].tolist(), heldout)


@dataclass(frozen=True)
class TrunkState:
    """What a finished trunk leaves."""

    path: Path
    """The directory of its run."""
    trunks: Trunks
    """The trunk, after those from which it went on itself."""

    @property
    def state(self) -> SavedState:
        """The state at its end. Raises `RunFailed` if there is none."""
        for path in (self.path / STATE).glob("step-*"):
            return SavedState(path, read_sealed(path / "state.json"))
        raise RunFailed(f"'{self.path}' has no state from which a training goes on")

    def serves(self, milestones: Collection[int]) -> bool:
        """Whether it has the weights of these milestones, as far as it gets."""
        return all((self.path / weights).exists() for weights in self._weights(milestones))

    def begin(self, work: Path, milestones: Collection[int]) -> None:
        """Gives the directory of a run that goes on from it the weights of its milestones, and says what it goes on
        from."""
        for weights in self._weights(milestones):
            copy(self.path / weights, work, weights)
        write_json(work, TRUNKS, to_json(self.trunks))

    def _weights(self, milestones: Collection[int]) -> list[str]:
        """The files of the milestones that it reaches."""
        return [f"milestones/step-{step:08d}.safetensors" for step in milestones if 0 < step <= self.state.step]


def steps_before(work: Path) -> int:
    """The steps that a trunk has trained for the run in `work`; 0 if it began from new weights."""
    path = work / TRUNKS
    return read_json(path, Trunks).steps if path.exists() else 0


class TrunkEnds(Exception):
    """Ends a training at the end of a trunk."""


class TrunkDirectory(RunDirectory):
    """Keeps the directory of a trunk, and ends its training."""

    def __init__(self, work: Path, milestones: Sequence[int], steps: int, group: ProcessGroup) -> None:
        super().__init__(work, milestones, steps + 1, group)
        self.until = steps

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Saves the state before the step after the last one, as checkpoints are, and raises `TrunkEnds`."""
        if trainer.global_step >= self.until:
            self.before_saving(trainer.global_step)
            trainer.save_checkpoint(self.work / STATE / f"step-{self.until:08d}")
            raise TrunkEnds
        super().on_train_batch_start(trainer, pl_module, batch, batch_idx)
