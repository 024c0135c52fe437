"""The Lightning Trainer as every job here uses it: quiet, no pickled checkpoints, an endless stream of batches."""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Sequence

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.strategies import Strategy

from bertlab.errors import RunFailed
from bertlab.machine import Machine
from bertlab.progress import Progress, asked_to_stop
from bertlab.training.share import ALONE, Share

REDUCTION = {"find_unused_parameters": True, "broadcast_buffers": False}
"""How DDP is to sum gradients: some parameters are used by some objectives only, or by a process that has rows. Its
buckets then also stay as they are from the first step on, so that a resumed training adds in the same order."""


def trainer(
    machine: Machine, steps: int, callbacks: Sequence[Callback] = (), strategy: Strategy | None = None
) -> Trainer:
    """A Trainer of `steps` updates in the precision of this machine and with its threads.

    On one device; with the `strategy` of a group, on the one that it gives this process.
    """
    torch.set_num_threads(machine.num_threads)
    if machine.gpus:
        torch.backends.cudnn.allow_tf32 = False  # torch's default for LSTMs, which are to be as exact as all else
    for name in ("lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero"):
        logging.getLogger(name).setLevel(logging.ERROR)  # device and precision are in the result, adverts nowhere
    made = Trainer(
        accelerator="gpu" if machine.gpus else "cpu",
        strategy=strategy or "auto",
        devices="auto" if strategy else 1,
        precision="bf16-mixed" if machine.bf16() else "32-true",
        max_steps=steps,
        max_epochs=-1,
        callbacks=list(callbacks),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        limit_val_batches=0,
        use_distributed_sampler=False,
    )
    # Lightning ends the one process that SIGTERM reaches, without a checkpoint; and before each batch it asks the group
    # whether it came to any, and waits for the device to answer. `Watch` does both, for all processes alike.
    made._signal_connector.register_signal_handlers = _nothing  # type: ignore[method-assign]
    made.fit_loop.epoch_loop._broadcast_sigterm_tensor = _nothing  # type: ignore[method-assign]
    return made


def _nothing() -> None:
    """Stands in for what Lightning would do."""


def fit(trainer: Trainer, module: LightningModule, data: object) -> None:
    """Trains. Raises `RunFailed` if compiling fails."""
    with warnings.catch_warnings():
        # Batches are a function of the step and cost microseconds: worker processes would only slow them down.
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        # A frozen encoder is, so that it has no dropout.
        warnings.filterwarnings("ignore", message=".*in eval mode at the start of training.*")
        # Lightning asks torch's pytree in a way that torch is about to drop.
        warnings.filterwarnings("ignore", message=".*isinstance\\(treespec, LeafSpec\\).*")
        # The stream is indexed by step and has no length.
        warnings.filterwarnings("ignore", message=".*has `__len__` defined.*|.*`IterableDataset`.*")
        # Torch, while it compiles, of its own ways.
        warnings.filterwarnings("ignore", message=".*not a leaf Tensor.*")
        # Which parameters a step uses depends on the objective, and on whether a process has rows at all.
        warnings.filterwarnings("ignore", message=".*find_unused_parameters=True was specified.*")
        try:
            trainer.fit(module, data)
        except RuntimeError as error:
            if not type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
                raise
            reason = str(error).partition("\n")[0]
            raise RunFailed(f"compiling failed, which --compile no leaves out: {reason}") from error


class Watch(Callback):
    """Reports every step, and decides after it, for all processes alike, whether they stop and whether they save.

    They stop after the step in which a signal came to any of them, and save then. They also save when `save_every`
    seconds have passed since they last did, by the clock of the first process: clocks differ.
    """

    def __init__(
        self,
        progress: Progress,
        total: int,
        stage: str,
        start: int = 0,
        share: Share = ALONE,
        save_every: float = math.inf,
    ) -> None:
        self.progress, self.total, self.stage, self.done, self.share = progress, total, stage, start, share
        self.save_every, self.saving = save_every, False
        self.saved()

    def saved(self) -> None:
        """Counts `save_every` from now on."""
        self._saved = time.monotonic()

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: object) -> None:
        """One more step is done. The decisions of all steps are one sum over the processes each."""
        self.done += 1
        self.progress(self.done, self.total, self.stage, **getattr(pl_module, "figures", {}))
        due = self.share.first and time.monotonic() - self._saved > self.save_every
        stops, saves = self.share.total(asked_to_stop(), due)
        self.saving = bool(stops or saves)
        if stops:
            trainer.should_stop = True
