"""Worker processes, each with one device of this machine or of a Ray cluster; a pre-training may replace several.

All machines of a cluster must see the store under the same path. Signals reach only this process, which stops workers
by a flag file in the store.
"""

import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput, first_line
from bertlab.execution import group
from bertlab.execution.attempt import SECONDS_BETWEEN_LOOKS, SECONDS_TO_STOP, Ended, Engine, attempt, missing
from bertlab.lab.jobs import Job
from bertlab.lab.jobs.lists import devices_per_run
from bertlab.lab.study_file import Code
from bertlab.machine import Machine
from bertlab.progress import Progress, listening_to, stop_if_asked
from bertlab.store.locks import is_locked, locked
from bertlab.store.runs import Store

PRIVATE = "bertlab-ray-"
"""The prefix of folders for Ray's sessions."""
OWNER = "BERTLAB_RAY_FOLDER"
"""The environment variable by which processes of Ray are matched to their folder."""
OBJECT_STORE_BYTES = 100 * 2**20
"""The memory of Ray's object store, enough for jobs and their outcomes: all data go through the store."""


class Worker:
    """A process with one device, as a Ray actor."""

    @staticmethod
    def ready(store: Path, code: Code | None) -> None:
        """Returns when the imports, which take seconds, are finished. Runs the study file `code` before them."""
        if not store.is_dir():
            raise FileNotFoundError(f"the runs directory '{store}' does not exist")
        if code is not None:
            code.require()
        import bertlab.training.finetuning
        import bertlab.training.pretraining  # noqa: F401

    @staticmethod
    def run(
        code: Code | None, references: list[Any], store: Store, machine: Machine, flag: Path, devices: int
    ) -> Ended:
        """Runs a job in this process, or a pre-training in a group of processes on several devices."""
        with listening_to(flag):
            try:
                job: Job = group.loaded(code, references[0])
            except BadInput as error:
                return Ended("refused", str(error))
            if damaged := missing(job, store):
                return damaged
            if devices == 1:
                return attempt(job, store, machine)
            machine, listening = replace(machine, threads=1), partial(listening_to, flag)

            def train(work: Path, progress: Progress) -> dict[str, Any]:
                return group.train(job, store, work, machine, devices, progress, listening)

            ended = attempt(job, store, machine, processes=devices, run=train)
        return replace(ended, final=True)  # `group.train` has tried twice


class Workers(Engine):
    """An engine of several devices, each held by a worker, or by a process of a pre-training on `group` devices.

    The existence of the file `flag` stops workers, which run the study file `code` first.
    """

    def __init__(self, ray: Any, store: Store, machine: Machine, group: int, flag: Path, code: Code | None) -> None:
        super().__init__(store, machine)
        self.ray, self.group, self.flag, self.code = ray, group, flag, code
        self.hiring: dict[Any, Any] = {}
        """Workers that are starting, by the Ray reference that is ready when they are."""
        self.idle: list[Any] = []
        self.running: dict[Any, tuple[Job, Progress, Any]] = {}
        """Jobs, their progress and the worker that runs each (`None` for a group), by Ray reference."""

    def devices(self, job: Job) -> int:
        """`group` for a distributed job, else one."""
        return self.group if job.distributed else 1

    def free(self) -> int:
        """The number of idle workers."""
        return len(self.idle)

    def hire(self, number: int) -> None:
        """Starts workers, on any free device; each becomes idle when it is ready."""
        gpus = min(self.machine.gpus, 1) / self.machine.runs_per_gpu
        remote = self.ray.remote(num_cpus=0 if gpus else 1, num_gpus=gpus)(Worker)
        for _ in range(number):
            worker = remote.remote()
            self.hiring[worker.ready.remote(self.store.root, self.code)] = worker

    def begin(self, job: Job, progress: Progress) -> None:
        """Gives a job to a worker; or starts a group in place of as many workers as it uses devices."""
        devices = self.devices(job)
        references = [self.ray.put(job)]  # in a list, so that Ray does not load the job before `code` runs
        arguments = self.code, references, self.store, self.machine.per_worker(), self.flag, devices
        workers = [self.idle.pop() for _ in range(devices)]
        if devices == 1:
            (worker,) = workers
            reference = worker.run.remote(*arguments)
        else:
            worker = None
            for hired in workers:
                self.ray.kill(hired)
            reference = self.ray.remote(num_cpus=0, max_retries=0)(Worker.run).remote(*arguments)
        self.running[reference] = job, progress, worker

    def ended(self) -> list[tuple[Job, Ended]]:
        """Jobs that have ended; reports the progress of the others."""
        waiting = [*self.running, *self.hiring]
        ready = self.ray.wait(waiting, timeout=SECONDS_BETWEEN_LOOKS)[0] if waiting else []
        for job, progress, _ in self.running.values():
            self.report(job, progress)
        for reference in set(ready) & self.hiring.keys():
            worker = self.hiring.pop(reference)
            try:
                self.ray.get(reference)
            except self.ray.exceptions.RayTaskError as error:
                raise BadInput(f"workers cannot be started: {_reason(error)}") from error
            except self.ray.exceptions.RayError:  # its process was killed, or its machine is gone
                self.hire(1)
            else:
                self.idle.append(worker)
        outcomes = []
        for reference in [reference for reference in ready if reference in self.running]:
            job, _, worker = self.running.pop(reference)
            try:
                ended: Ended = self.ray.get(reference)
            except self.ray.exceptions.RayTaskError as error:  # its process still runs
                ended = Ended("failed", _reason(error))
            except self.ray.exceptions.RayError as error:
                worker, ended = None, Ended("failed", f"its process was killed ({_reason(error)})")
            if worker is None:
                self.hire(self.devices(job))
            else:
                self.idle.append(worker)
            outcomes.append((job, ended))
        return outcomes

    def stop(self) -> None:
        """Stops all running jobs, after they save."""
        if self.running:
            self.flag.touch()
            self.ray.wait([*self.running], num_returns=len(self.running), timeout=SECONDS_TO_STOP)


@contextmanager
def workers(store: Store, machine: Machine, jobs: Sequence[Job]) -> Iterator[Workers]:
    """Workers on the devices of `machine`, for `jobs`; ends everything that it started.

    Raises `BadInput` if the cluster has fewer devices.
    """
    store = Store(store.root.resolve())  # workers have another current directory
    with _ray(machine) as ray:
        there = ray.cluster_resources() if machine.cluster else {}
        for kind, option, needed in (("GPU", "--gpus", machine.gpus), ("CPU", "--workers", machine.workers)):
            if machine.cluster and needed > (available := there.get(kind, 0)):
                raise BadInput(f"{option} is {needed}: the cluster at '{machine.cluster}' has {available:.0f}")
        flag, devices = store.locks.scratch / store.locks.new_name("stop"), devices_per_run(machine, jobs)
        engine = Workers(ray, store, machine, devices, flag, next((job.code for job in jobs), None))
        engine.hire(min(machine.devices, len(jobs) * devices))
        try:
            yield engine
        except BaseException:  # a signal, or bad input of one job: the others save
            engine.stop()
            raise
        finally:
            flag.unlink(missing_ok=True)


@contextmanager
def _ray(machine: Machine) -> Iterator[Any]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")
    os.environ.setdefault("TORCH_PROCESS_GROUP_SHUTDOWN_TIMEOUT_S", "1")  # a process that hangs does not shut down
    if machine.cluster != "auto":
        os.environ.pop("RAY_ADDRESS", None)  # only `--cluster` selects a cluster
    if not machine.cluster:  # other users of this machine must not run code in this session
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    if "RAY_AUTH_TOKEN" in os.environ or Path("~/.ray/auth_token").expanduser().exists():
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    # Otherwise Ray ends this process on SIGTERM with a C++ stack trace, and removes its handlers on shutdown.
    os.environ["RAY_DISABLE_FAILURE_SIGNAL_HANDLER"] = "1"
    # A signal to the process group of this command, as `timeout` sends it, must reach only this process, which lets
    # workers save: Ray's processes get groups of their own.
    os.register_at_fork(after_in_child=os.setpgrp)
    import ray

    logging.getLogger("ray").setLevel(logging.ERROR)
    # In the main thread, a SIGTERM during the start would crash Ray. Its processes end with this thread.
    with _private_folder() as private, ThreadPoolExecutor(1) as thread, ExitStack() as stack:
        stack.callback(ray.shutdown)
        failed = f"no Ray cluster answers at '{machine.cluster}'"
        options: dict[str, Any] = {"address": machine.cluster}
        if not machine.cluster:
            failed = "Ray cannot be started"
            options = {
                "num_cpus": machine.workers or machine.gpus,
                "num_gpus": machine.gpus or None,
                "include_dashboard": False,
                "object_store_memory": OBJECT_STORE_BYTES,
                "_node_ip_address": "127.0.0.1",
                "_temp_dir": str(private / "ray"),
            }
        start = partial(ray.init, log_to_driver=False, logging_level="ERROR", configure_logging=False, **options)
        try:
            if machine.cluster not in ("", "auto"):  # Ray itself would wait, at another service for ever
                host, _, port = machine.cluster.rpartition(":")
                with socket.create_connection((host, int(port)), timeout=10.0) as connection:
                    # Ray's head answers in HTTP/2 (RFC 9113, section 3.4), which begins with a settings frame (type 4).
                    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
                    if connection.recv(9)[3:4] != b"\4":
                        raise OSError("another service listens there")
            thread.submit(start).result()
        except Exception as error:  # Ray raises many classes, also `Exception` itself
            raise BadInput(f"{failed}: {_reason(error)}") from error
        stop_if_asked()
        yield ray


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A private folder around that of Ray's session, which Ray opens to all users of the machine.

    Kills all processes that were started for it at the end, and those that killed commands of this user left.
    """
    temporary = Path("/tmp")  # paths of sockets must be short
    for left in temporary.glob(f"{PRIVATE}*"):
        with suppress(OSError):
            if left.lstat().st_uid == os.getuid() and not is_locked(left / "lock"):
                _remove(left)
    private = Path(tempfile.mkdtemp(prefix=PRIVATE, dir=temporary))
    os.environ[OWNER] = str(private)
    try:
        with locked(private / "lock"):
            yield private
    finally:
        del os.environ[OWNER]
        _remove(private)


def _remove(private: Path) -> None:
    """Removes the folder of a session and kills its processes; some would live for another minute."""
    mark = f"{OWNER}={private}".encode()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # the process has ended, or is another user's
            if mark in environment.read_bytes().split(b"\0"):
                os.kill(int(environment.parent.name), signal.SIGKILL)
    shutil.rmtree(private, ignore_errors=True)


def _reason(error: BaseException) -> str:
    return first_line(getattr(error, "cause", None) or error)
