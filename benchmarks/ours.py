"""Our pre-training, as `bertlab ablate` does it, and as a loop without Lightning.

Batches are made and masked as they are needed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from blocks import Block, repeated
from clock import Clock, nothing
from ids import tokens_a_step
from lightning.pytorch import Callback
from shapes import Shape

from bertlab.inputs.batches import Batches
from bertlab.keyed import key
from bertlab.machine import Machine
from bertlab.model.dropout import seed_dropout
from bertlab.model.heads import PretrainingModel
from bertlab.training import evaluation, figures, optimization
from bertlab.training.pretraining import Pretraining, PretrainingData
from bertlab.training.trainer import fit, trainer


class _Ending(Callback):
    """Ends a training when its clock says so."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        if self.clock.over():
            trainer.should_stop = True


def through_lightning(shape: Any, machine: Machine, batches: Batches) -> Block:
    """A block of our training as jobs do it, in tokens a second: of `shape.recipe`, at least `shape.fewest` steps."""
    recipe, tokens = shape.recipe, tokens_a_step(batches)
    model = PretrainingModel.of(recipe, recipe.tokenizer.vocabulary)
    module = Pretraining(recipe, model.to(machine.device).train(), machine)
    wait = torch.cuda.synchronize if machine.gpus else nothing

    def block(seconds: float) -> float:
        clock = Clock(seconds, shape.fewest, wait)
        data = PretrainingData(batches, module.step, recipe.schedule.steps)
        fit(trainer(machine, recipe.schedule.steps, [_Ending(clock)]), module, data)
        return clock.rate * tokens

    return block


def by_hand(shape: Shape, machine: Machine, batches: Batches) -> Block:
    """A block of the same updates in a plain loop, in tokens a second."""
    return repeated(updates(shape, machine, batches), shape.fewest)


def updates(shape: Shape, machine: Machine, batches: Batches) -> Callable[[], float]:
    """Makes one more update at each call, and gives its tokens."""
    recipe, tokens, step = shape.recipe, tokens_a_step(batches), 0
    model = PretrainingModel.of(recipe, shape.vocabulary).to(machine.device).train()
    optimizer = optimization.build(model, recipe.optimizer)

    def update() -> float:
        nonlocal step
        batch = batches.batch(step)
        parts = evaluation.on_device(batch, machine.device)
        if (batch.lengths == batch.tokens.shape[1]).all():
            parts = dataclasses.replace(parts, lengths=None)
        seed_dropout(key(recipe.seed, "dropout", step, 0))
        with evaluation.autocast(machine):
            sums = model.losses(parts)
            counts = {each.kind: each.count(batch.arrays[each.kind]) for each in model.objective}
            loss = torch.stack([sums[kind] / count for kind, count in counts.items()]).sum()
        loss.backward()
        norm = optimization.update(
            optimizer, recipe.schedule.learning_rate(step), recipe.optimizer.max_grad_norm, loss.detach()
        )
        figures.check(step, float(loss.detach()), float(norm))
        step += 1
        return tokens

    return update
