"""Worker processes on the devices of this machine or of a Ray cluster; each runs one job after the other.

A worker holds one device and imports torch once. A pre-training on several devices replaces as many workers. Workers
read and write the store themselves, so all machines of a cluster must see it under the same path. Signals reach only
this process, which stops workers by a flag file in the store.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput, RunFailed
from bertlab.execution.attempt import Ended, attempt
from bertlab.lab.jobs import Job, Pretrain, devices_per_pretraining, needs
from bertlab.lab.study_file import Code
from bertlab.machine import Machine
from bertlab.progress import Interrupted, Progress, listening_to, stop_if_asked
from bertlab.store.locks import claimed, is_claimed
from bertlab.store.runs import Store

SECONDS_TO_STOP = 9.0
"""The time that workers have to save before they are killed."""

SECONDS_TO_REACH = 10.0

SECONDS_TO_HIRE = 600.0
"""A command without any device ends after this time."""

SECONDS_BETWEEN_LOOKS = 0.3

PRIVATE = "bertlab-ray-"
"""The prefix of folders for Ray's sessions."""
OWNER = "BERTLAB_RAY_FOLDER"
"""The environment variable by which processes of Ray are matched to their folder."""
SECONDS_TO_CLAIM = 60.0
"""The command that made a younger folder may not have claimed it yet."""

_SETTINGS = 4
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0))
"""The beginning of an HTTP/2 connection (RFC 9113, section 3.4)."""

OBJECT_STORE_BYTES = 100 * 2**20
"""Enough for jobs and their outcomes; all data go through the store."""


class Worker:
    """A process with one device, as a Ray actor."""

    def __init__(self, store: Path, machine: Machine, flag: Path, code: Code | None) -> None:
        self.store, self.machine, self.flag, self.code = Store(store), machine, flag, code

    def ready(self) -> None:
        """Returns when the imports, which take seconds, are finished."""
        if not self.store.root.is_dir():
            raise FileNotFoundError(f"the runs directory '{self.store.root}' does not exist")
        if self.code is not None:  # before other imports, as in the main process
            self.code.require()
        import bertlab.training.finetuning
        import bertlab.training.pretraining  # noqa: F401

    def ping(self) -> None:
        """Returns, if the process is alive."""

    def run(self, job: Job) -> Ended:
        """Runs a job."""
        with listening_to(self.flag):
            try:
                for need in needs(job):
                    self.store.wait_for(need.id)
            except RunFailed as error:
                return Ended("failed", str(error))
            return attempt(job, self.store, self.machine)


def run_in_group(job: Pretrain, store: Path, machine: Machine, devices: int, flag: Path) -> Ended:
    """Runs a pre-training on several devices, from a Ray task without one."""
    from bertlab.execution import group

    opened = Store(store)
    machine = replace(machine, threads=1)
    try:
        opened.wait_for(job.corpus.id)
        opened.get_verified(job.corpus.id)
    except RunFailed as error:  # the schedule repeats the corpus, then this job
        return Ended("failed", str(error))

    def train(work: Path, progress: Progress) -> dict[str, Any]:
        return group.train(job, opened, work, machine, devices, progress, listening=partial(listening_to, flag))

    with listening_to(flag):
        ended = attempt(job, opened, machine, processes=devices, run=train)
    return replace(ended, final=True)  # `group.train` has tried twice


@dataclass
class _Running:
    job: Job
    progress: Progress
    worker: Any = None
    """The worker that runs it; `None` for a group."""
    devices: int = 1


@dataclass
class Workers:
    """An engine (see `schedule.Engine`) of several devices."""

    ray: Any
    store: Store
    machine: Machine
    group: int
    """Devices of one pre-training."""
    flag: Path
    """A file whose existence stops workers."""
    code: Code | None = None
    """A study file that workers run first."""
    hiring: dict[Any, Any] = field(default_factory=dict)
    """Workers that are starting, by the Ray reference that is ready when they are."""
    idle: list[Any] = field(default_factory=list)
    running: dict[Any, _Running] = field(default_factory=dict)
    refused: int = 0
    """Consecutive workers that could not start."""
    missed: list[tuple[Job, Ended]] = field(default_factory=list)
    """Jobs that began without any worker alive."""
    waits: float = 0.0
    """The time since which no job runs."""

    def devices(self, job: Job) -> int:
        """`group` for a pre-training, else one."""
        return self.group if isinstance(job, Pretrain) and job.steps else 1

    def free(self) -> int:
        """The number of idle workers."""
        return len(self.idle)

    def _take(self) -> Any:
        """An idle worker that is alive; `None` if there is none."""
        while self.idle:
            worker = self.idle.pop()
            try:
                self.ray.get(worker.ping.remote(), timeout=SECONDS_TO_REACH)
            except self.ray.exceptions.RayError:  # its machine is gone, or it hangs
                self.ray.kill(worker)
                self.hire(1)
            else:
                return worker
        return None

    def hire(self, number: int) -> None:
        """Starts workers, on any free device; each becomes idle when it is ready."""
        gpus = min(self.machine.gpus, 1)
        remote = self.ray.remote(num_cpus=0 if gpus else 1, num_gpus=gpus)(Worker)
        for _ in range(number):
            worker = remote.remote(self.store.root, self.machine.per_worker(), self.flag, self.code)
            self.hiring[worker.ready.remote()] = worker

    def begin(self, job: Job, progress: Progress) -> None:
        """Gives a job to a worker; or starts a group in place of as many workers as it uses devices."""
        self.waits = 0.0
        devices = self.devices(job)
        if devices == 1:
            worker = self._take()
            if worker is None:
                self.missed.append((job, Ended("claimed")))
                return
            self.running[worker.run.remote(job)] = _Running(job, progress, worker)
            return
        for _ in range(devices):
            self.ray.kill(self.idle.pop())
        remote = self.ray.remote(num_cpus=0, max_retries=0)(run_in_group)
        reference = remote.remote(job, self.store.root, self.machine.per_worker(), devices, self.flag)
        self.running[reference] = _Running(job, progress, devices=devices)

    def ended(self) -> list[tuple[Job, Ended]]:
        """Jobs that have ended; reports the progress of the others."""
        missed, self.missed = self.missed, []
        waiting = [*self.running, *self.hiring]
        if missed or not waiting:
            return missed
        self._wait_for_devices()
        self.ray.wait(waiting, num_returns=1, timeout=SECONDS_BETWEEN_LOOKS)
        ready, _ = self.ray.wait(waiting, num_returns=len(waiting), timeout=0)
        for reference in [each for each in ready if each in self.hiring]:
            self._hired(reference)
        found = [self._collect(each) for each in ready if each in self.running]
        for each in self.running.values():
            known = self.store.progress(each.job.id)
            if known.get("total"):
                figures = {name: value for name, value in known.items() if name not in ("pid", "host", "since")}
                each.progress(figures.pop("done"), figures.pop("total"), figures.pop("stage"), **figures)
        return found

    def stop(self, number: int) -> None:
        """Stops all running jobs, after they save."""
        if self.running:
            self.flag.write_text(str(number), encoding="utf-8")
            self.ray.wait([*self.running], num_returns=len(self.running), timeout=SECONDS_TO_STOP)

    def _wait_for_devices(self) -> None:
        """Raises `BadInput` if no job has run for long: devices are missing, or other commands hold them."""
        now = time.monotonic()
        if self.running or not self.hiring or not self.waits:
            self.waits = now
        elif now - self.waits > SECONDS_TO_HIRE:
            there = self.ray.cluster_resources()
            raise BadInput(
                f"no device has become free in {SECONDS_TO_HIRE / 60:.0f} minutes: the cluster has "
                f"{there.get('GPU', 0):.0f} GPUs and {there.get('CPU', 0):.0f} CPUs, and other commands may hold them"
            )

    def _hired(self, reference: Any) -> None:
        worker = self.hiring.pop(reference)
        try:
            self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            self.refused += 1
            if self.refused > self.machine.devices:
                raise BadInput(f"workers cannot be started: {_reason(error)}") from error
            self.hire(1)
            return
        self.refused = 0
        self.idle.append(worker)

    def _collect(self, reference: Any) -> tuple[Job, Ended]:
        running = self.running.pop(reference)
        try:
            ended: Ended = self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            ended = Ended("failed", _reason(error))
        except self.ray.exceptions.RayError as error:
            self.hire(running.devices)
            return running.job, Ended("failed", f"its process was killed ({_reason(error)})")
        if running.worker is None:
            self.hire(running.devices)
        else:
            self.idle.append(running.worker)
        return running.job, ended


@contextmanager
def workers(store: Store, machine: Machine, jobs: Sequence[Job]) -> Iterator[Workers]:
    """Workers on the devices of `machine`, for `jobs`.

    Starts Ray on this machine, or joins a cluster; ends everything that it started. Raises `BadInput` if the cluster
    has fewer devices.
    """
    store = Store(store.root.resolve())  # workers have another current directory
    with _ray(machine) as ray:
        there = ray.cluster_resources() if machine.cluster else {}
        for kind, option, needed in (("GPU", "--gpus", machine.gpus), ("CPU", "--workers", machine.workers)):
            if machine.cluster and needed > (found := there.get(kind, 0)):
                raise BadInput(f"{option} is {needed}: the cluster at '{machine.cluster}' has {found:.0f}")
        flag, group = store.scratch / store.own_name("stop"), devices_per_pretraining(machine, jobs)
        engine = Workers(ray, store, machine, group, flag, next((job.code for job in jobs), None))
        engine.hire(min(machine.devices, len(jobs) * group))
        try:
            yield engine
        except BaseException as error:  # a signal, or bad input of one job: the others save
            engine.stop(error.number if isinstance(error, Interrupted) else signal.SIGTERM)
            raise
        finally:
            flag.unlink(missing_ok=True)


@contextmanager
def _ray(machine: Machine) -> Iterator[Any]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")
    if machine.cluster != "auto":
        os.environ.pop("RAY_ADDRESS", None)  # only `--cluster` selects a cluster
    if not machine.cluster:  # other users of this machine must not run code in this session
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    if "RAY_AUTH_TOKEN" in os.environ or Path("~/.ray/auth_token").expanduser().exists():
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    # Otherwise Ray ends this process on SIGTERM with a C++ stack trace, and removes its handlers on shutdown.
    os.environ["RAY_DISABLE_FAILURE_SIGNAL_HANDLER"] = "1"
    import ray

    logging.getLogger("ray").setLevel(logging.ERROR)
    with _private_folder() as private:
        common: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
        if machine.cluster:
            start = partial(ray.init, address=machine.cluster, **common)
        else:
            start = partial(
                ray.init,
                num_cpus=machine.workers or machine.gpus,
                num_gpus=machine.gpus or None,
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                _node_ip_address="127.0.0.1",
                _temp_dir=str(private / "ray"),
                **common,
            )
        # In the main thread, a SIGTERM during the start would crash Ray. Its processes end with this thread.
        with ThreadPoolExecutor(1) as thread:
            try:
                try:
                    if machine.cluster:
                        _reach(machine.cluster)
                    with _apart:
                        thread.submit(start).result()
                except Exception as error:  # Ray raises many classes, also `Exception` itself
                    local = "Ray cannot be started"
                    what = f"no Ray cluster answers at '{machine.cluster}'" if machine.cluster else local
                    raise BadInput(f"{what}: {_reason(error)}") from error
                stop_if_asked()
                yield ray
            finally:
                ray.shutdown()


class _Apart:
    """Within it, child processes that run Python before another program, as Ray's do, form their own process groups.

    A signal to the process group of this command, as `timeout` sends it, then reaches only this process, which lets
    workers save.
    """

    def __init__(self) -> None:
        self.active = False
        os.register_at_fork(after_in_child=self._leave)

    def __enter__(self) -> None:
        self.active = True

    def __exit__(self, *error: object) -> None:
        self.active = False

    def _leave(self) -> None:
        if self.active:
            os.setpgid(0, 0)


_apart = _Apart()


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A private folder around that of Ray's session, which Ray opens to all users of the machine.

    Kills all processes that were started for it at the end, and those that killed commands of this user left.
    """
    place = Path("/tmp" if Path("/tmp").is_dir() else tempfile.gettempdir())  # paths of sockets must be short
    for left in place.glob(f"{PRIVATE}*"):
        with suppress(OSError):
            facts = left.lstat()
            old = time.time() - facts.st_mtime > SECONDS_TO_CLAIM
            if old and facts.st_uid == os.getuid() and not is_claimed(left / "claim"):
                _remove(left)
    private = Path(tempfile.mkdtemp(prefix=PRIVATE, dir=place))
    os.environ[OWNER] = str(private)
    try:
        with claimed(private / "claim"):
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


def _reach(address: str) -> None:
    """Raises `OSError` or `ValueError` if no Ray listens at HOST:PORT; Ray itself would wait for minutes or for ever.

    Ray's head answers in HTTP/2, which begins with a settings frame.
    """
    if address != "auto":
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=SECONDS_TO_REACH) as connection:
            connection.sendall(_HELLO)
            frame = connection.makefile("rb").read(9)
        if len(frame) < 9 or frame[3] != _SETTINGS:
            raise OSError("another service listens there")


def _reason(error: BaseException) -> str:
    lines = str(getattr(error, "cause", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
