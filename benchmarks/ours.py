"""Our pre-training, as `bertlab ablate` does it, and as a loop without Lightning.

Batches are made and masked as they are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from blocks import Block, repeated
from clock import Clock, nothing
from ids import tokens_a_step
from lightning.pytorch import Callback, LightningDataModule
from shapes import Shape

from bertlab.inputs.batches import Batches
from bertlab.keyed import key
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.recipe import Recipe
from bertlab.training.data import PretrainingDataModule, to_tensors
from bertlab.training.module import build, clip, require_finite
from bertlab.training.pretraining import PretrainingModule
from bertlab.training.trainer import quiet, trainer


class _Ending(Callback):
    """Ends a training when its clock says so."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        if self.clock.over():
            trainer.should_stop = True


def through_lightning(shape: Any, machine: Machine, batches: Batches) -> Block:
    """A block of our training as jobs do it, in tokens a second: of `shape.recipe` with `shape.vocabulary` ids, at
    least `shape.fewest` steps."""
    recipe, tokens = shape.recipe, tokens_a_step(batches)
    module = PretrainingModule(recipe, shape.vocabulary)
    if machine.compiles(recipe):
        module.model.compile_losses(**machine.compile_options(recipe))
    wait = torch.cuda.synchronize if machine.gpus else nothing

    def block(seconds: float) -> float:
        clock = Clock(seconds, shape.fewest, wait)
        data = _Data(recipe, batches, trimmed=not machine.compiles(recipe))
        with quiet():
            trainer(machine, recipe.schedule.steps, [_Ending(clock)]).fit(module.train(), data)
        return clock.rate * tokens

    return block


class _Data(PretrainingDataModule):
    """Batches that are there already, from the first one on in each block."""

    def __init__(self, recipe: Recipe, batches: Batches, *, trimmed: bool) -> None:
        LightningDataModule.__init__(self)
        self.recipe, self.micro_batch, self.batches, self.trimmed = recipe, 0, batches, trimmed
        self.corpus = SimpleNamespace(tokenizer=SimpleNamespace(vocabulary=()))  # random ids spell nothing

    def setup(self, stage: str) -> None:
        """Nothing is evaluated."""


def by_hand(shape: Shape, machine: Machine, batches: Batches) -> Block:
    """A block of the same updates in a plain loop, in tokens a second."""
    return repeated(updates(shape, machine, batches), shape.fewest)


def updates(shape: Shape, machine: Machine, batches: Batches) -> Callable[[], float]:
    """Makes one more update at each call, and gives its tokens."""
    recipe, tokens, step = shape.recipe, tokens_a_step(batches), 0
    model = PretrainingModel.of(recipe, shape.vocabulary).to(machine.device).train()
    optimizer = build(model, recipe.optimizer)

    def update() -> float:
        nonlocal step
        batch = batches.batch(step)
        parts = to_tensors(batch).to(machine.device)
        torch.manual_seed(key(recipe.seed, "dropout", step, 0))
        with torch.autocast(machine.device, dtype=torch.bfloat16, enabled=machine.precision_used == "bf16"):
            sums = model.losses(parts)
            counts = {each.kind: each.count(batch.arrays[each.kind]) for each in model.objective}
            loss = torch.stack([sums[kind] / count for kind, count in counts.items()]).sum()
        loss.backward()
        norm = clip(optimizer, recipe.optimizer.max_grad_norm, loss.detach())
        for group in optimizer.param_groups:
            group["lr"] = recipe.schedule.learning_rate(step)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        require_finite(step, float(loss.detach()), float(norm))
        step += 1
        return tokens

    return update
