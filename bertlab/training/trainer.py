"""The Lightning Trainer as every job uses it: quiet, on the devices of a machine."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.loggers import Logger
from lightning.pytorch.strategies import Strategy

from bertlab.errors import RunFailed
from bertlab.machine import Machine

REDUCTION = {"find_unused_parameters": True, "broadcast_buffers": False}
"""How DDP sums gradients: some parameters are used by some objectives only, or by a process that has sequences. With it
the buckets stay as they are from the first step on, so that a resumed training adds in the same order."""

LOGGERS = (
    "lightning.pytorch",  # results record device and precision
    "lightning.fabric",
    "lightning.pytorch.utilities.rank_zero",
    "torch._inductor.ir",  # while it compiles: which kernels it calls in a slower way
)
"""Loggers whose warnings say nothing that a user can act on."""

PYTREE = r".*isinstance\(treespec, LeafSpec\)"  # Lightning calls torch's pytree in a way that torch is about to drop

# For a Trainer of the user's own, too; it also advises what else could be installed beside it.
warnings.filterwarnings("ignore", message=PYTREE)
logging.getLogger("lightning.pytorch.utilities.rank_zero").addFilter(lambda record: "Tip:" not in record.getMessage())


def trainer(
    machine: Machine,
    steps: int,
    callbacks: Sequence[Callback] = (),
    plugins: Sequence[Any] = (),
    *,
    strategy: Strategy | None = None,
    loggers: Sequence[Logger] = (),
    validate: bool = False,
    exact: bool = False,
    **options: Any,
) -> Trainer:
    """A Trainer of `steps` updates with the threads of this machine, in its precision or, if `exact`, in fp32.

    Uses one device, or the device that the `strategy` of a group gives this process. With `validate`, validates when a
    callback sets `val_check_batch`. The `options` are the Trainer's own.
    """
    configure_process(machine)
    if strategy is None:  # whatever started this process, and numbered it: SLURM, LSF, torchrun
        alone = LightningEnvironment()
        alone.set_global_rank(0)
        plugins = [*plugins, alone]
    with quiet():
        lightning = Trainer(
            accelerator="gpu" if machine.gpus else "cpu",
            strategy=strategy or "auto",
            devices="auto" if strategy else 1,
            precision="bf16-mixed" if machine.precision_used == "bf16" and not exact else "32-true",
            max_steps=steps,
            max_epochs=-1,
            callbacks=list(callbacks),
            plugins=list(plugins),
            logger=list(loggers),
            log_every_n_steps=1,
            num_sanity_val_steps=0,
            limit_val_batches=1.0 if validate else 0,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
            **options,
        )
    # On SIGTERM, Lightning ends the process that received it, without a checkpoint; and before each batch it broadcasts
    # whether any process received it, which waits for the device. `RunDirectory` and `StopOnSignal` replace both.
    lightning._signal_connector.register_signal_handlers = lambda: None  # type: ignore[method-assign]
    lightning.fit_loop.epoch_loop._broadcast_sigterm_tensor = lambda: None  # type: ignore[method-assign]
    return lightning


def configure_process(machine: Machine) -> None:
    """Sets the threads of this process, exact LSTMs on a GPU, and the level of `LOGGERS`."""
    torch.set_num_threads(machine.num_threads)
    if machine.gpus:
        torch.backends.cudnn.allow_tf32 = False  # torch allows it in LSTMs, which are to be as exact as all else
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)


WARNINGS = (
    PYTREE,
    ".*in eval mode at the start of training.*",  # a frozen encoder is, so that it has no dropout
    ".*not a leaf Tensor.*",  # from torch itself, while it compiles
    ".*find_unused_parameters=True was specified.*",  # it depends on the objective, and on the sequences of a process
    "GPU available but not used.*",  # without `--gpus` the CPU is meant
    "TensorFloat32 tensor cores.*",  # fp32 is asked for where numbers are to be exact
    "Guards may run slower on Python 3.13.0.*",  # torch asks for a later one
    "\\s*Online softmax is disabled.*",  # how torch compiles the softmax
    "The CUDA Graph is empty.*",  # one of those that torch captures for itself, as it compiles with graphs
    ".*recommended to use `self.log.*sync_dist=True.*",  # what is logged is the same on all processes
)
"""Warnings that do not apply to these trainings."""


@contextmanager
def quiet() -> Iterator[None]:
    """Within it a Trainer gives none of `WARNINGS`. Raises `RunFailed` if compiling fails."""
    with warnings.catch_warnings():
        for message in WARNINGS:
            warnings.filterwarnings("ignore", message=message)
        try:
            yield
        except RuntimeError as error:
            if not type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
                raise
            reason = str(error).partition("\n")[0]
            raise RunFailed(f"compiling failed, which --compile no leaves out: {reason}") from error
