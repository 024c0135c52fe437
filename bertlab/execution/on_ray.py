"""Worker processes on the devices of this machine or of a Ray cluster, each of which carries out jobs one by one.

A worker has one device for as long as it lives, so torch is imported once; a pre-training on several devices takes the
places of as many workers. Workers read and write the store themselves, so all machines of a cluster must see it under
the same path. Signals reach this process only: a file in the store asks workers to stop.
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
"""What workers have for saving before they are ended."""

SECONDS_TO_REACH = 10.0

SECONDS_TO_HIRE = 600.0
"""After so long without a device to run on, a command gives up."""

SECONDS_BETWEEN_LOOKS = 0.3

PRIVATE = "bertlab-ray-"
"""How the names of folders for Ray's sessions begin."""
OWNER = "BERTLAB_RAY_FOLDER"
"""The variable that names the folder to the processes that Ray starts."""
SECONDS_TO_CLAIM = 60.0
"""A folder that is younger may not have been claimed yet by the command that made it."""

_SETTINGS = 4
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0))
"""How HTTP/2 begins (RFC 9113, section 3.4)."""

OBJECT_STORE_BYTES = 100 * 2**20
"""Jobs and outcomes are small: all data goes through the store."""


class Worker:
    """A process with one device. Runs within Ray."""

    def __init__(self, store: Path, machine: Machine, flag: Path, code: Code | None) -> None:
        self.store, self.machine, self.flag, self.code = Store(store), machine, flag, code

    def ready(self) -> None:
        """Returns when the imports, which take seconds, are done."""
        if not self.store.root.is_dir():
            raise FileNotFoundError(f"the runs directory '{self.store.root}' is not there")
        if self.code is not None:  # before other imports, as in the process that read it
            self.code.require()
        import bertlab.training.finetuning
        import bertlab.training.pretraining  # noqa: F401

    def here(self) -> None:
        """Returns."""

    def run(self, job: Job) -> Ended:
        """Carries out a job."""
        with listening_to(self.flag):
            try:
                for need in needs(job):
                    self.store.seen(need.id)
            except RunFailed as error:
                return Ended("failed", str(error))
            return attempt(job, self.store, self.machine)


def run_in_group(job: Pretrain, store: Path, machine: Machine, devices: int, flag: Path) -> Ended:
    """Carries out a pre-training on several devices, from a process without one. Runs within Ray."""
    from bertlab.execution import group

    kept = Store(store)
    machine = replace(machine, threads=1)
    try:
        kept.seen(job.corpus.id)
        kept.whole(job.corpus.id)
    except RunFailed as error:  # it is made anew, and this is tried once more
        return Ended("failed", str(error))

    def train(work: Path, progress: Progress) -> dict[str, Any]:
        return group.train(job, kept, work, machine, devices, progress, listening=partial(listening_to, flag))

    with listening_to(flag):
        ended = attempt(job, kept, machine, processes=devices, run=train)
    return replace(ended, final=True)  # a group is tried twice by itself


@dataclass
class _Running:
    job: Job
    progress: Progress
    worker: Any = None
    """The worker that carries it out; `None` for a group."""
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
    """A file whose presence asks workers to stop."""
    code: Code | None = None
    """A study file that workers run first."""
    hiring: dict[Any, Any] = field(default_factory=dict)
    """Workers that are starting, by what tells when they are ready."""
    idle: list[Any] = field(default_factory=list)
    running: dict[Any, _Running] = field(default_factory=dict)
    refused: int = 0
    """Workers in a row that could not be started."""
    missed: list[tuple[Job, Ended]] = field(default_factory=list)
    """Jobs for which there was no worker after all."""
    waits: float = 0.0
    """Since when nothing runs and devices are waited for."""

    def devices(self, job: Job) -> int:
        """One; for a pre-training what was asked for."""
        return self.group if isinstance(job, Pretrain) and job.steps else 1

    def free(self) -> int:
        """Workers that wait for a job."""
        return len(self.idle)

    def _take(self) -> Any:
        """A worker that waits for a job and is still alive; `None` if there is none."""
        while self.idle:
            worker = self.idle.pop()
            try:
                self.ray.get(worker.here.remote(), timeout=SECONDS_TO_REACH)
            except self.ray.exceptions.RayError:  # its machine is gone, or it hangs
                self.ray.kill(worker)
                self.hire(1)
            else:
                return worker
        return None

    def hire(self, number: int) -> None:
        """Starts workers; each takes part as soon as it is ready, wherever there is a device for it."""
        gpus = min(self.machine.gpus, 1)
        remote = self.ray.remote(num_cpus=0 if gpus else 1, num_gpus=gpus)(Worker)
        for _ in range(number):
            worker = remote.remote(self.store.root, self.machine.per_worker(), self.flag, self.code)
            self.hiring[worker.ready.remote()] = worker

    def begin(self, job: Job, progress: Progress) -> None:
        """Gives a job to a worker; or ends as many as it takes devices, for a group to take their places."""
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
        asked = (job, self.store.root, self.machine.per_worker(), devices, self.flag)
        self.running[remote.remote(*asked)] = _Running(job, progress, devices=devices)

    def ended(self) -> list[tuple[Job, Ended]]:
        """Jobs that have ended; tells of the others' progress."""
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
            told = self.store.progress(each.job.id)
            if told.get("total"):
                figures = {name: value for name, value in told.items() if name not in ("pid", "host", "since")}
                each.progress(figures.pop("done"), figures.pop("total"), figures.pop("stage"), **figures)
        return found

    def stop(self, number: int) -> None:
        """Asks all that runs to save and end, and waits for it."""
        if self.running:
            self.flag.write_text(str(number), encoding="utf-8")
            self.ray.wait([*self.running], num_returns=len(self.running), timeout=SECONDS_TO_STOP)

    def _wait_for_devices(self) -> None:
        """Raises `BadInput` if nothing has run for long, because devices are not there or others have them."""
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
    """Workers on as many devices as the machine says, for as long as they are needed for `jobs`.

    Ray is started on this machine, or joined; what was started is ended, whatever happens. Raises `BadInput` when there
    are fewer devices.
    """
    # Worker processes look at paths from another directory.
    store = Store(store.root.resolve())
    with _ray(machine) as ray:
        if machine.cluster:
            _check(ray, machine)
        flag, group = store.stop_flag(), devices_per_pretraining(machine, jobs)
        engine = Workers(ray, store, machine, group, flag, next((job.code for job in jobs), None))
        engine.hire(min(machine.devices, len(jobs) * group))
        try:
            yield engine
        except BaseException as error:  # a signal, or bad input of one job: the others save what they have
            engine.stop(error.number if isinstance(error, Interrupted) else signal.SIGTERM)
            raise
        finally:
            flag.unlink(missing_ok=True)


@contextmanager
def _ray(machine: Machine) -> Iterator[Any]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")
    if machine.cluster != "auto":
        os.environ.pop("RAY_ADDRESS", None)  # `--cluster` alone says where to run
    if not machine.cluster:  # this machine has other users: none of them is to run code here
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    if "RAY_AUTH_TOKEN" in os.environ or Path("~/.ray/auth_token").expanduser().exists():
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    # Ray would end this process on SIGTERM with a stack of C++, and take its handlers away when it is shut down.
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
        # In the main thread Ray would exit on SIGTERM, half started, and crash. Its processes end with this thread.
        with ThreadPoolExecutor(1) as thread:
            try:
                try:
                    if machine.cluster:
                        _reach(machine.cluster)
                    with _apart:
                        thread.submit(start).result()
                except Exception as error:  # of any class, the bare one among them
                    where = (
                        f"no Ray cluster answers at '{machine.cluster}'" if machine.cluster else "Ray cannot be started"
                    )
                    raise BadInput(f"{where}: {_reason(error)}") from error
                stop_if_asked()
                yield ray
            finally:
                ray.shutdown()


class _Apart:
    """Within it, processes that call Python before they run another program are groups of their own.

    Ray's do, to share the fate of this one. A signal to the group, as by `timeout`, reaches this process only then,
    which has workers save what they have.
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
    """A folder for Ray's session, which Ray opens to all users of the machine: within this one nobody else reaches it.

    What has been started for it and is still there at the end is ended with it; and so is what killed commands of this
    user left behind.
    """
    place = Path("/tmp" if Path("/tmp").is_dir() else tempfile.gettempdir())  # paths of sockets are short
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
    """Removes the folder of a session, and ends the processes started for it: some would live for a minute."""
    mark = f"{OWNER}={private}".encode()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or it is another user's
            if mark in environment.read_bytes().split(b"\0"):
                os.kill(int(environment.parent.name), signal.SIGKILL)
    shutil.rmtree(private, ignore_errors=True)


def _reach(address: str) -> None:
    """Raises `OSError` or `ValueError` if no Ray listens at HOST:PORT, which Ray takes minutes or for ever to find out.

    Ray's head speaks HTTP/2, whose first frame is one of settings.
    """
    if address != "auto":
        host, _, port = address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=SECONDS_TO_REACH) as connection:
            connection.sendall(_HELLO)
            frame = connection.makefile("rb").read(9)
        if len(frame) < 9 or frame[3] != _SETTINGS:
            raise OSError("another service listens there")


def _check(ray: Any, machine: Machine) -> None:
    """Raises `BadInput` if the cluster has fewer devices than are asked for."""
    there = ray.cluster_resources()
    for kind, option, asked in (("GPU", "--gpus", machine.gpus), ("CPU", "--workers", machine.workers)):
        if asked > there.get(kind, 0):
            raise BadInput(f"{option} is {asked}: the cluster at '{machine.cluster}' has {there.get(kind, 0):.0f}")


def _reason(error: BaseException) -> str:
    cause = getattr(error, "cause", None)
    lines = str(cause or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
