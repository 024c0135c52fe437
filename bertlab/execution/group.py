"""One pre-training on several devices, with Ray Train and Lightning DDP: one process for each device.

If a process dies, the group ends at once; if one hangs, after `COLLECTIVE_SECONDS`. The group then starts a second
time, from the run's own checkpoint; Ray Train keeps none.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput, RunFailed, writing
from bertlab.execution import environment
from bertlab.lab.jobs import Pretrain
from bertlab.machine import Machine
from bertlab.progress import Interrupted, Progress, silent, stop_if_asked
from bertlab.store.runs import Store

COLLECTIVE_SECONDS = environment.collective_seconds()
"""How long a process waits for the others, which may hang, or save to a slow disk."""

TRIES = 2
"""How often a group starts whose processes are killed, hang or fail."""

FINAL = (BadInput, RunFailed, Interrupted)
"""Errors that would occur again."""


def train(
    job: Pretrain,
    store: Store,
    work: Path,
    machine: Machine,
    devices: int,
    progress: Progress,
    *,
    listening: Callable[[], AbstractContextManager[None]] = nullcontext,
    collective_seconds: int = COLLECTIVE_SECONDS,
) -> dict[str, Any]:
    """Pre-trains `job` in `work` on this number of GPUs, or of CPU cores without GPUs, and returns its result.

    Ray must be initialised, and the caller must hold none of the devices. The first process calls `progress`, and each
    trains within `listening()`, through which it sees the stop flag: both are pickled. Raises the errors of the
    training, and `RunFailed` if the group was killed or hung twice.
    """
    machine = dataclasses.replace(machine, gpus=min(machine.gpus, 1), threads=1)  # as one process uses it
    store, work = Store(store.root.absolute()), work.absolute()  # Ray Train changes the current directory
    process = partial(_process, job, store, work, machine, progress, listening)
    for attempt in range(TRIES):
        stop_if_asked()
        try:
            # In another thread, where Ray Train does not replace the signal handlers.
            with ThreadPoolExecutor(1) as thread:
                result = thread.submit(_fit, process, machine, devices, collective_seconds, store.scratch).result()
        except _Ended as ended:
            if ended.final is not None:
                raise ended.final from None
            if attempt + 1 == TRIES:
                raise RunFailed(f"a worker of the group ended or hung {TRIES} times: {ended}") from None
        else:
            return result
    raise AssertionError("unreachable")


class _Ended(Exception):
    """A group ended without a result; `final` is an error that would occur again, if there is one."""

    def __init__(self, failures: list[BaseException]) -> None:
        super().__init__("; ".join(dict.fromkeys(_line(each) for each in failures)))
        self.final = next((each for kind in FINAL for each in failures if isinstance(each, kind)), None)


def _fit(
    process: Callable[[], Any], machine: Machine, devices: int, collective_seconds: int, place: Path
) -> dict[str, Any]:
    """Starts the processes of a group and returns the result of the first."""
    from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError, WorkerGroupError
    from ray.train.torch import TorchTrainer

    # Ray Train needs a directory that all machines see, such as the store; its files there are not used.
    with tempfile.TemporaryDirectory(prefix="group.", dir=place) as nothing:
        trainer = TorchTrainer(
            process,
            torch_config=_collectives(machine, collective_seconds),
            scaling_config=ScalingConfig(
                num_workers=devices,
                use_gpu=machine.gpus > 0,
                resources_per_worker={"GPU": 1} if machine.gpus else {"CPU": 1},
            ),
            run_config=RunConfig(storage_path=nothing, failure_config=FailureConfig(max_failures=0)),
        )
        try:
            result: dict[str, Any] = trainer.fit().return_value
        except WorkerGroupError as error:
            raise _Ended(list(error.worker_failures.values())) from None
        except TrainingFailedError as error:
            raise _Ended([error]) from None
    return result


def _collectives(machine: Machine, seconds: int) -> Any:
    """The process group: gloo for tensors on the CPU, NCCL for those on GPUs."""
    from ray.train.torch import TorchConfig

    class Backend(TorchConfig().backend_cls):  # type: ignore[misc]
        def on_shutdown(self, worker_group: object, backend_config: object) -> None:
            """Does nothing: the processes end anyway, and shutting down would wait for one that hangs."""

    @dataclasses.dataclass
    class Collectives(TorchConfig):  # type: ignore[misc]
        @property
        def backend_cls(self) -> type:
            return Backend

    return Collectives(backend="cpu:gloo,cuda:nccl" if machine.gpus else "gloo", timeout_s=seconds)


def _process(
    job: Pretrain,
    store: Store,
    work: Path,
    machine: Machine,
    progress: Progress,
    listening: Callable[[], AbstractContextManager[None]],
) -> dict[str, Any] | None:
    """Trains as one process of a group; the first returns the result."""
    if job.code is not None:
        job.code.require()
    from ray.train import get_context
    from ray.train.lightning import RayDDPStrategy, RayLightningEnvironment

    from bertlab.training.process_group import ProcessGroup
    from bertlab.training.trainer import REDUCTION

    context = get_context()
    group = ProcessGroup(context.get_world_rank(), context.get_world_size())
    strategy = RayDDPStrategy(cluster_environment=RayLightningEnvironment(), **REDUCTION)
    writes = store.claimed_by_group(job.id) if group.first else nullcontext()
    with listening(), writing(store.root), writes:
        result = job.train(work, store, machine, progress if group.first else silent, group, strategy)
    return result if group.first else None


def _line(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
