"""One job on several devices, with Ray Train and Lightning DDP: one process for each device.

A group whose process dies or hangs starts a second time, from the run's own checkpoint; Ray Train keeps none.
"""

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput, RunFailed, writing
from bertlab.execution import environment
from bertlab.lab.jobs import Job
from bertlab.lab.study_file import Code
from bertlab.machine import Machine
from bertlab.progress import Interrupted, Progress, silent, stop_if_asked
from bertlab.store import files, writes
from bertlab.store.runs import Store

COLLECTIVE_SECONDS = environment.collective_seconds()
"""How long a process waits for the others, which may hang, or save to a slow disk."""
COMPILE_SECONDS = 240
"""How much longer where trainings are compiled: one process may meet a shape that the others have not."""
SLOW = 50_000_000
"""Bytes that a slow disk, or a network file system that many use, reads or writes in a second."""
TRIES = 2
"""How often a group starts whose processes are killed, hang or fail."""


def train(
    job: Job,
    store: Store,
    work: Path,
    machine: Machine,
    devices: int,
    progress: Progress,
    listening: Callable[[], AbstractContextManager[None]],
) -> dict[str, Any]:
    """Runs a distributed job in `work` on this number of devices, which the caller must not hold; returns its result.

    `machine` is as each process uses it, and paths are absolute. The first process calls `progress`; each trains within
    `listening()`, through which it sees the stop flag: both are pickled. Raises the errors of the training, and
    `RunFailed` if the group was killed or hung twice.
    """
    import ray

    process = partial(_process, job.code, ray.put(job), store, work, machine, progress, listening)
    waits = patience(job, store, machine)
    result: dict[str, Any]
    for _ in range(TRIES):
        stop_if_asked()
        # In another thread, where Ray Train does not replace the signal handlers.
        with ThreadPoolExecutor(1) as thread:
            result, failures = thread.submit(_fit, process, machine, devices, store.locks.scratch, waits).result()
        if not failures:
            return result
        for error in failures:
            if isinstance(error, BadInput | RunFailed | Interrupted):  # it would occur again
                raise error from None
    reason = "; ".join(dict.fromkeys(f"{type(error).__name__}: {error}"[:300] for error in failures))
    raise RunFailed(f"a worker of the group ended or hung {TRIES} times: {reason}")


def patience(job: Job, store: Store, machine: Machine) -> int:
    """The seconds that a process waits for the others: one may compile, save a checkpoint, or read a text that they
    have in memory."""
    runs = filter(None, (store.get(need.id) for need in job.needs))
    read = sum(file.bytes for run in runs for file in run.manifest().values())
    most = max(read, job.storage().working / 2)  # two checkpoints
    return COLLECTIVE_SECONDS + COMPILE_SECONDS * job.compiles(machine) + int(most // SLOW)


def _fit(
    process: Callable[[], Any], machine: Machine, devices: int, folder: Path, patience: int
) -> tuple[Any, list[BaseException]]:
    """Starts the processes of a group and returns the result of the first, or the errors of those that failed.

    Each waits for the others for `patience` seconds.
    """
    from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError, WorkerGroupError
    from ray.train.torch import TorchConfig, TorchTrainer

    # Ray Train needs a directory that all machines see, such as the store; its files there are not used.
    with tempfile.TemporaryDirectory(prefix="group.", dir=folder) as nothing:
        trainer = TorchTrainer(
            process,
            # Tensors on the CPU use gloo, those on GPUs NCCL.
            torch_config=TorchConfig("cpu:gloo,cuda:nccl" if machine.gpus else "gloo", timeout_s=patience),
            scaling_config=ScalingConfig(
                num_workers=devices,
                use_gpu=machine.gpus > 0,
                resources_per_worker={"GPU": 1} if machine.gpus else {"CPU": 1},
            ),
            run_config=RunConfig(storage_path=nothing, failure_config=FailureConfig(max_failures=0)),
        )
        try:
            return trainer.fit().return_value, []
        except WorkerGroupError as error:
            return {}, list(error.worker_failures.values())
        except TrainingFailedError as error:
            return {}, [error]


def loaded(code: Code | None, reference: Any) -> Any:
    """The object of a Ray reference, after its study file, which may define parts of it, has run. Raises `BadInput`."""
    import ray

    if code is not None:
        code.require()
    return ray.get(reference)


def _process(
    code: Code | None,
    reference: Any,
    store: Store,
    work: Path,
    machine: Machine,
    progress: Progress,
    listening: Callable[[], AbstractContextManager[None]],
) -> dict[str, Any] | None:
    """Trains as one process of a group; the first returns the result."""
    job = loaded(code, reference)
    from ray.train import get_context
    from ray.train.lightning import RayDDPStrategy, RayLightningEnvironment

    from bertlab.training.process_group import ProcessGroup
    from bertlab.training.trainer import REDUCTION

    context = get_context()
    group = ProcessGroup(context.get_world_rank(), context.get_world_size())
    strategy = RayDDPStrategy(cluster_environment=RayLightningEnvironment(), **REDUCTION)
    holds = store.locks.group(job.id) if group.first else nullcontext()
    with listening(), writing(store.root), holds:
        if group.first:  # the command may run on a machine that has no GPU
            record = files.read_json(work / "environment.json", dict[str, Any])
            numerics = machine.numerics(job.compiles(machine)) | {"processes": group.world_size}
            writes.write_json(work, "environment.json", record | {"numerics": numerics})
        result: dict[str, Any] = job.run(work, store, machine, progress if group.first else silent, group, strategy)
    return result if group.first else None
