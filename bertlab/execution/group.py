"""One pre-training on several devices: Ray Train starts a process for each, which train it together (Lightning DDP).

A process that is killed ends the group at once, one that hangs when the others have waited for it for
`COLLECTIVE_SECONDS`; the group is then started a second time, from the run's own checkpoint. Ray Train keeps none.
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
from bertlab.execution.environment import seconds
from bertlab.lab.jobs import Pretrain
from bertlab.machine import Machine
from bertlab.progress import Interrupted, Progress, silent, stop_if_asked
from bertlab.store.runs import Store

COLLECTIVE_SECONDS = seconds("BERTLAB_COLLECTIVE_SECONDS")
"""After so long a process gives those up that it waits for; they may hang, or save to a slow disk."""

TRIES = 2
"""How often a group is started whose processes are killed, hang or fail for reasons that may pass."""

FINAL = (BadInput, RunFailed, Interrupted)
"""What a training ends with for good: it would again."""


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
    """Pre-trains `job` in `work` on so many GPUs, or CPU cores without GPUs, and returns the result as `job.run` does.

    Ray is to be initialised, and the caller to hold none of the devices. `progress` is called in the first process, and
    each trains within `listening()`, by which it hears that it is asked to stop: both are sent there. Raises what the
    training raises, and `RunFailed` if the group was killed or hung twice.
    """
    machine = _one_device(machine)
    store, work = Store(store.root.absolute()), work.absolute()  # Ray Train moves its processes to another directory
    process = partial(_process, job, store, work, machine, progress, listening)
    for attempt in range(TRIES):
        stop_if_asked()
        try:
            # Outside of the main thread, where Ray Train leaves the handlers of signals alone.
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
    """A group ended without a result; `final` says why, if trying again would not help."""

    def __init__(self, failures: list[BaseException]) -> None:
        super().__init__("; ".join(dict.fromkeys(_line(each) for each in failures)))
        self.final = next((each for kind in FINAL for each in failures if isinstance(each, kind)), None)


def _fit(
    process: Callable[[], Any], machine: Machine, devices: int, collective_seconds: int, place: Path
) -> dict[str, Any]:
    """Starts the processes of a group and returns what the first one does."""
    from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError, WorkerGroupError
    from ray.train.torch import TorchTrainer

    # Ray Train wants a directory that all machines see, as the store is, and leaves nothing of use there.
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
    """The process group: what is on the CPU goes over gloo, what is on GPUs over NCCL."""
    from ray.train.torch import TorchConfig

    class Backend(TorchConfig().backend_cls):  # type: ignore[misc]
        def on_shutdown(self, worker_group: object, backend_config: object) -> None:
            """Nothing: the processes end anyway, and one that hangs would be waited for."""

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
    """What each process of a group does; the first returns the result."""
    if job.code is not None:
        job.code.require()
    from ray.train import get_context
    from ray.train.lightning import RayDDPStrategy, RayLightningEnvironment

    from bertlab.training.share import Share
    from bertlab.training.trainer import REDUCTION

    context = get_context()
    share = Share(context.get_world_rank(), context.get_world_size())
    strategy = RayDDPStrategy(cluster_environment=RayLightningEnvironment(), **REDUCTION)
    writes = store.claimed_by_group(job.id) if share.first else nullcontext()
    with listening(), writing(store.root), writes:
        result = job.train(work, store, machine, progress if share.first else silent, share, strategy)
    return result if share.first else None


def _one_device(machine: Machine) -> Machine:
    """The machine as one process of a group uses it: its own device, and one CPU thread."""
    return dataclasses.replace(machine, gpus=min(machine.gpus, 1), threads=1)


def _line(error: BaseException) -> str:
    """What an error says, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
