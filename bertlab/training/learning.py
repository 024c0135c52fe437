"""What all measurements share: batches in a keyed order, training on them, and scores of what is judged.

Data order and dropout are keyed by (seed, fine-tuning seed, epoch or step): the same call gives the same bits at
the same number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn

from bertlab import keyed, recipe
from bertlab.adaptation import Adaptation
from bertlab.machine import Machine
from bertlab.model.dropout import seed_dropout
from bertlab.progress import Progress, stop_if_asked
from bertlab.store.faults import point
from bertlab.tasks import examples
from bertlab.tasks.examples import Examples, Integers
from bertlab.training import optimization
from bertlab.training.figures import Figures, check
from bertlab.training.logs import NOWHERE, Log, Pace
from bertlab.training.trainer import Watch, fit, trainer

CURVE_POINTS = 100
"""Points of the training curve that are kept, each the mean loss since the one before."""


class Stream:
    """The batches of a training: epoch after epoch, each in its own keyed order, `steps` in all."""

    def __init__(
        self,
        lengths: Integers,
        batch: int,
        epochs: float,
        steps: int,
        build: Callable[[Integers], dict[str, Tensor]],
        key: tuple[int | str, ...],
    ) -> None:
        self.lengths, self.size, self.build, self.key = lengths, batch, build, key
        all_steps = max(1, math.ceil(epochs * math.ceil(len(lengths) / batch)))
        self.steps = min(steps, all_steps) if steps else all_steps

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        done = epoch = 0
        while done < self.steps:
            for rows in examples.epoch(self.lengths, self.size, *self.key, epoch)[: self.steps - done]:
                yield self.build(rows)
                done += 1
            epoch += 1


@dataclass
class _Curve:
    interval: int
    points: list[dict[str, float]] = field(default_factory=list)
    pending: list[float] = field(default_factory=list)

    def add(self, loss: float, last: bool) -> None:
        self.pending.append(loss)
        if len(self.pending) == self.interval or last:
            step = (int(self.points[-1]["step"]) if self.points else 0) + len(self.pending)
            self.points.append({"step": step, "loss": math.fsum(self.pending) / len(self.pending)})
            self.pending.clear()


class Measuring(LightningModule):
    """One update a step: the mean loss over the targets of the batch."""

    def __init__(
        self,
        model: nn.Module,
        logits: Callable[[dict[str, Tensor]], Tensor],
        loss: Callable[[Tensor, Tensor], Tensor],
        settings: Adaptation,
        stream: Stream,
        log: Log = NOWHERE,
        tag: str = "train",
    ) -> None:
        super().__init__()
        self.automatic_optimization = False  # an update is `optimization.update`, as in pre-training
        self.model, self.logits, self.key = model, logits, stream.key
        self.loss = loss
        self.settings, self.steps, self.step = settings, stream.steps, 0
        self.schedule = recipe.Schedule(steps=stream.steps, peak_lr=settings.peak_lr, warmup=settings.warmup)
        self.curve = _Curve(max(1, stream.steps // CURVE_POINTS))
        self.pending = Figures()
        """Loss and gradient norm of the latest steps."""
        self.figures: dict[str, float] = {}
        self.told, self.tag, self.rows, self.pace = log, tag, 0, Pace()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """AdamW in BERT's two groups, for each learning rate of the adaptation."""
        adaptation = self.settings
        settings = recipe.Optimizer(weight_decay=adaptation.weight_decay, bias_correction=adaptation.bias_correction)
        return optimization.build(self.model, settings, adaptation.lr_multipliers(self.model))

    def training_step(self, batch: dict[str, Tensor], index: int) -> None:
        """Forward, backward and update of step `self.step`."""
        seed_dropout(keyed.key(*self.key, "dropout", self.step))
        error = self.loss(self.logits(batch), batch["targets"])
        self.manual_backward(error)
        optimizer = self.optimizers()
        assert isinstance(optimizer, torch.optim.Optimizer)  # Lightning's, which counts the steps
        norm = optimization.update(
            optimizer, self.schedule.learning_rate(self.step), recipe.Optimizer().max_grad_norm, error.detach()
        )
        self.pending.add(error, norm)
        self.step += 1
        self.rows += len(batch["targets"])
        a_point = self.step % self.curve.interval == 0 or self.step == self.steps
        if self.pending.due or a_point:
            self._settle()
        point("measure.step")
        if a_point:
            self.figures = {"loss": self.curve.points[-1]["loss"]}
            rates = {
                "learning_rate": self.schedule.learning_rate(self.step - 1),
                "rows_per_second": self.pace(self.rows),
            }
            self.told(self.step, {f"{self.tag}/{name}": value for name, value in (self.figures | rates).items()})

    def _settle(self) -> None:
        """Puts the latest steps on the curve. Raises `RunFailed`, status `diverged`, if one of them is not finite."""
        rows = self.pending.read()
        for step, (error, norm) in enumerate(rows, start=self.step - len(rows)):
            check(step, error, norm)
            self.curve.add(error, last=step + 1 == self.steps)


def learn(
    model: nn.Module,
    logits: Callable[[dict[str, Tensor]], Tensor],
    loss: Callable[[Tensor, Tensor], Tensor],
    stream: Stream,
    settings: Adaptation,
    machine: Machine,
    progress: Progress,
    stage: str,
    log: Log = NOWHERE,
    tag: str = "train",
) -> list[dict[str, float]]:
    """Trains `model` on the batches of `stream` in place and returns the curve of its loss.

    `log` is told of the same curve, its names under `tag`.
    """
    model.to(machine.device).train()
    module = Measuring(model, logits, loss, settings, stream, log, tag)
    fit(trainer(machine, stream.steps, [Watch(progress, stream.steps, stage)]), module, stream)
    stop_if_asked()
    return module.curve.points


@torch.inference_mode()
def predict(
    model: nn.Module,
    logits: Callable[[dict[str, Tensor]], Tensor],
    judged: Examples,
    batches: Sequence[Integers],
    machine: Machine,
    build: Callable[[Integers], dict[str, Tensor]],
) -> npt.NDArray[np.float32]:
    """The logits of every target, (W, C), in the order of the targets; minus infinity where a row has fewer than C.

    In fp32 on every machine: bf16 changes some answers. `batches` have the longest rows first.
    """
    model.to(machine.device).eval()
    scores: npt.NDArray[np.float32] | None = None
    for numbers in batches:
        stop_if_asked()
        point("measure.predict")
        slots = judged.batch(numbers).slots
        parts = {name: value.to(machine.device) for name, value in build(numbers).items()}
        found = logits(parts).float().cpu().numpy()
        if scores is None:
            scores = np.full((len(judged.targets), found.shape[-1]), -np.inf, np.float32)
        full = slots >= 0
        scores[slots[full], : found.shape[-1]] = found[full]
    assert scores is not None
    return scores
