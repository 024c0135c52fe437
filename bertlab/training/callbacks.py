"""Callbacks of trainings: progress, signals, milestones and checkpoints of a run."""

import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.trainer.states import TrainerFn

from bertlab.progress import Interrupted, Progress, asked_to_stop, stop_if_asked
from bertlab.store.writes import append_line
from bertlab.training import checkpoints
from bertlab.training.process_group import SINGLE, ProcessGroup

SECONDS_BETWEEN_CHECKPOINTS = 60.0
"""Minimum seconds between checkpoints."""
SHARE_OF_CHECKPOINTS = 0.05
"""Largest share of the training time that is spent on checkpoints."""


class ProgressCallback(Callback):
    """Reports every step after the first ones, which a trunk has trained, with the module's `progress_metrics`."""

    def __init__(self, progress: Progress, total: int, stage: str, first: int = 0) -> None:
        self.progress, self.total, self.stage, self.first = progress, total, stage, first

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A step is done with the last of its micro-batches."""
        if getattr(batch, "last", True):
            done, total = trainer.global_step - self.first, self.total - self.first
            self.progress(done, total, self.stage, **getattr(pl_module, "progress_metrics", {}))


class StopOnSignal(Callback):
    """Raises `Interrupted` after the batch in which a signal came."""

    def on_train_batch_end(self, *_: Any) -> None:
        """Stops a training that has nothing to save."""
        stop_if_asked()

    def on_predict_batch_start(self, *_: Any) -> None:
        """Stops before the next batch of predictions."""
        stop_if_asked()

    def on_validation_batch_start(self, *_: Any) -> None:
        """Stops before the next batch of an evaluation."""
        stop_if_asked()


class SaveCheckpoints(Callback):
    """Saves checkpoints to resume from, each before a step, when the step before it has written its line of the curve
    and its evaluation.

    Saves every `SECONDS_BETWEEN_CHECKPOINTS`, or less often if saving takes long, by the clock of the first process, as
    clocks differ, and when a signal reaches any process; then all processes raise `Interrupted` after saving.
    """

    def __init__(self, work: Path, group: ProcessGroup = SINGLE) -> None:
        """`work` is the directory of the run."""
        self.work, self.group = work, group
        self.saved = time.monotonic()
        self.pause = SECONDS_BETWEEN_CHECKPOINTS
        self.trained = False

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Saves and stops."""
        if not self.trained:
            return
        self.trained = False
        due = self.group.first and time.monotonic() - self.saved >= self.pause
        stops, saves = self.group.total(asked_to_stop(), due)
        if stops or saves:
            self.before_saving(trainer.global_step)
            began = time.monotonic()
            trainer.save_checkpoint(checkpoints.path(self.work, trainer.global_step))
            self.saved = time.monotonic()
            self.pause = max(SECONDS_BETWEEN_CHECKPOINTS, (self.saved - began) / SHARE_OF_CHECKPOINTS)
        if stops:
            stop_if_asked()
            raise Interrupted(signal.SIGTERM)  # another process of the group received the signal

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A step is done with the last of its micro-batches."""
        self.trained = getattr(batch, "last", True)

    def before_saving(self, step: int) -> None:
        """Called before a checkpoint after `step` updates."""


class RunDirectory(SaveCheckpoints):
    """Keeps the directory of a pre-training: weights at milestones, checkpoints to resume from, `timing.jsonl`."""

    def __init__(self, work: Path, milestones: Sequence[int], steps: int, group: ProcessGroup) -> None:
        """`milestones` are the numbers of updates after which weights are evaluated and kept, of `steps` in all."""
        super().__init__(work, group)
        self.milestones, self.steps = set(milestones), steps
        self.clock = self.saved

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Saves and stops, and has the Trainer validate after the batch that ends a milestone's step."""
        super().on_train_batch_start(trainer, pl_module, batch, batch_idx)
        # The Trainer's own setting is an interval; milestones are at any step.
        trainer.val_check_batch = 1 if batch.last and trainer.global_step + 1 in self.milestones else sys.maxsize

    def before_saving(self, step: int) -> None:
        """Ends the training time before a checkpoint."""
        self._time("train", step)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Ends the training time before a milestone's evaluation."""
        if trainer.state.fn == TrainerFn.FITTING:
            self._time("train", trainer.global_step)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Keeps the weights of a milestone; those of the last step are the result."""
        if trainer.state.fn != TrainerFn.FITTING:
            return
        step = trainer.global_step
        if self.group.first and step < self.steps:
            folder = self.work / "milestones"
            folder.mkdir(exist_ok=True)
            pl_module.model.save(folder / f"step-{step:08d}.safetensors")  # type: ignore[operator, union-attr]
        self._time("evaluate", step)

    def _time(self, stage: str, step: int) -> None:
        now = time.monotonic()
        if self.group.first:
            line = {"stage": stage, "step": step, "seconds": round(now - self.clock, 3)}
            append_line(self.work, "timing.jsonl", line)
        self.clock = now
