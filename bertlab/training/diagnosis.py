"""Runs the diagnostics of an adaptation on a model that it has trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from lightning.fabric.utilities import move_data_to_device
from torch import nn

from bertlab import keyed
from bertlab.adaptation.base import Adaptation, Inputs
from bertlab.adaptation.finetuning import levels_of
from bertlab.diagnostics.base import TrainedModel
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.progress import Progress
from bertlab.store.result import Surface
from bertlab.tasks.examples import Examples, TaskBatch, by_length
from bertlab.tasks.kinds.base import TaskKind
from bertlab.training.module import TrainingModule

LOSS_EXAMPLES = 256
"""The most examples of which a loss is the mean: diagnostics read it many times."""


class DiagnosedModule(TrainingModule):
    """What a module of a fine-tuning has for diagnostics."""

    model: nn.Module
    adaptation: Adaptation
    kind: TaskKind
    key: tuple[int | str, ...]
    """What random numbers follow from."""
    curve: list[dict[str, float]]
    """Points of training: `step`, and the mean `loss` since the point before (nats for classes); at some the
    `heldout_loss`."""


@dataclass(frozen=True)
class Diagnosis:
    """What diagnostics measure of a trained model."""

    metrics: Mapping[str, float] = field(default_factory=dict)
    surface: Surface | None = None


def diagnose(module: DiagnosedModule, begin: Callable[[], nn.Module], train: Inputs, machine: Machine) -> Diagnosis:
    """What the diagnostics of a trained module measure. `begin` makes its model as it was before training."""
    diagnostics = module.adaptation.diagnostics
    if not diagnostics:
        return Diagnosis()
    device, start = torch.device("cuda" if machine.gpus else "cpu"), begin()
    with _evaluating(module, device):
        batches = [*_sample(train)]

        def loss() -> float:
            return mean_loss(module, batches, device)

        levels = [*zip(levels_of(start), levels_of(module.model), strict=True)]
        trained = TrainedModel(module.model, start, levels, loss, module.curve, module.key)
        metrics = {name: value for part in diagnostics for name, value in part.measure(trained).items()}
        return Diagnosis(metrics, next(filter(None, (part.surface(trained) for part in diagnostics)), None))


def heldout_inputs(
    adaptation: Adaptation, model: PretrainingModel, part: Examples, machine: Machine, progress: Progress
) -> Inputs | None:
    """The held-out examples that the training is to read; None if no diagnostic asks for them."""
    asked = any(diagnostic.heldout_points for diagnostic in adaptation.diagnostics)
    return adaptation.inputs(model, part, machine, progress) if asked else None


def heldout_point(module: DiagnosedModule, step: int, since: int) -> dict[str, float]:
    """The held-out loss after `step` updates, by its name; empty if none is due, or was due after the point `since`."""
    steps, points = module.schedule.steps, [part.heldout_points for part in module.adaptation.diagnostics]
    due = any(number * step // steps > number * since // steps for number in points)
    examples: Any = module.trainer.datamodule if due else None  # type: ignore[attr-defined]
    if examples is None or examples.evaluation is None:  # a Trainer of the user's own may have none
        return {}
    with _evaluating(module, module.device):
        return {"heldout_loss": mean_loss(module, [*_sample(examples.evaluation)], module.device)}


def mean_loss(module: DiagnosedModule, batches: Sequence[TaskBatch], device: torch.device) -> float:
    """The loss of the task on batches, a mean over their examples (nats of classes)."""
    total, count = 0.0, 0
    with torch.inference_mode():
        for batch in batches:
            on_device = move_data_to_device(dict(batch), device)
            number = len(on_device["targets"])
            total += number * float(module.kind.loss(module(on_device), on_device["targets"]))
            count += number
    return total / count


def _sample(part: Inputs) -> Iterator[TaskBatch]:
    """Batches of some examples, the same for every model of a task."""
    chosen = np.sort(keyed.permutation(keyed.key("diagnosed"), len(part.lengths))[:LOSS_EXAMPLES])
    for numbers in by_length(part.lengths[chosen], part.batch_tokens):
        yield part.build(chosen[numbers])


@contextmanager
def _evaluating(module: DiagnosedModule, device: torch.device) -> Iterator[None]:
    """Within it a module is on a device and has no dropout."""
    before, training = next(module.parameters()).device, module.training
    module.to(device).eval()
    try:
        yield
    finally:
        module.to(before).train(training)
