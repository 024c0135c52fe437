"""A Trainer of the user's own: it does the updates that the recipe describes, or ends in one line before the first."""

import torch.distributed
from lightning.pytorch import LightningModule
from torch.optim import Optimizer

from bertlab.errors import BadInput
from bertlab.wording import pluralise

PRECISIONS = ("32-true", "bf16-mixed")
"""The precisions of a Trainer, as Lightning names them."""


def check(module: LightningModule, steps: int, micro_batches: int) -> None:
    """Raises `BadInput` unless the Trainer and the optimiser of a module do `steps` updates as its recipe does them.

    `micro_batches` are those of this process in a step.
    """
    trainer = module.trainer
    if module.device.type == "mps":
        raise BadInput("Apple's GPU has no float64, in which losses are summed: give the Trainer accelerator='cpu'")
    if trainer.max_steps not in (-1, steps) and not trainer.fast_dev_run:  # type: ignore[attr-defined]
        raise BadInput(
            f"the Trainer has max_steps={trainer.max_steps}, but the learning rate is scheduled over {steps:,}: give "
            f"it max_steps={steps}, or the recipe another schedule"
        )
    if trainer.accumulate_grad_batches != micro_batches:
        raise BadInput(
            f"the Trainer has accumulate_grad_batches={trainer.accumulate_grad_batches}, but the data give a step in "
            f"{pluralise(micro_batches, 'part')}: give it accumulate_grad_batches={micro_batches}; to divide a batch "
            "of a pre-training, use PretrainingDataModule(micro_batch=...) and data.micro_batches(world_size)"
        )
    batches = trainer.limit_train_batches
    if isinstance(batches, int) and batches % micro_batches:
        raise BadInput(
            f"the Trainer ends an epoch after {pluralise(batches, 'part')}, within a step of {micro_batches}: "
            f"give it multiples of {micro_batches} as limit_train_batches, overfit_batches or fast_dev_run"
        )
    if trainer.world_size > 1 and "gloo" not in torch.distributed.get_backend_config():
        raise BadInput(
            "the processes of the Trainer add up losses on the CPU, which needs gloo: give it "
            "strategy=DDPStrategy(process_group_backend='cpu:gloo,cuda:nccl', find_unused_parameters=True)"
        )
    for optimizer in trainer.optimizers:
        if problem := unfused(optimizer):
            raise BadInput(f"{type(module).__name__}.configure_optimizers returns {problem}")


def check_precision(precision: str) -> None:
    """Raises `BadInput` for a precision of the Trainer that changes the weights or scales the gradients, which are
    clipped as they are."""
    if precision not in PRECISIONS:
        raise BadInput(f"the Trainer has precision='{precision}': give it '{PRECISIONS[0]}' or '{PRECISIONS[1]}'")


def unfused(optimizer: Optimizer) -> str:
    """What is wrong with an optimiser of torch that refuses `found_inf`, which holds updates still; empty if it fits.

    `clip` sets it where a loss or gradient is not finite.
    """
    fused = optimizer.defaults.get("fused", True)
    return "" if fused else f"a torch.optim.{type(optimizer).__name__} without fused=True: set it"
