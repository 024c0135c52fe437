"""The machine: devices, precision, threads and paths, which are no part of an id."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sysconfig
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

from bertlab import __version__, cgroups, trackers
from bertlab.errors import DISTRIBUTION, BadInput, install, unknown
from bertlab.recipe import Recipe
from bertlab.store.files import expanded, kind
from bertlab.trackers.lightning import Opener

PRECISIONS = ("auto", "fp32", "bf16")
COMPILATIONS = ("auto", "yes", "no", "graphs")
WORKER_BYTES = 2 * 2**30
"""About the memory that a run on the CPU takes: torch, and a model with its optimizer and activations."""
COMPILE_MIN_STEPS = 5000
"""Compiling takes about a minute, which shorter trainings do not save."""
COMPILE_MAX_STAGES = 4
"""Stages of a recipe, each with batches of its own shape, up to which a pre-training is compiled: each takes its
minute, and torch makes at most eight graphs of a function, those of the evaluation included."""


def _cache_folder() -> Path:
    if chosen := os.environ.get("BERTLAB_CACHE"):
        return expanded(chosen, "BERTLAB_CACHE")
    caches = os.environ.get("XDG_CACHE_HOME", "")  # its specification ignores relative paths
    return expanded(caches if os.path.isabs(caches) else "~/.cache", "HOME") / "bertlab"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The settings of this machine. No id of a run contains them; results record the numerics."""

    runs: Path = Path("runs")
    data: Path | None = None
    """A local copy of tasks and corpora, searched before the Hub."""
    cache: Path = field(default_factory=_cache_folder)
    """The index of file hashes, which may be deleted. `BERTLAB_CACHE` and `XDG_CACHE_HOME` set the default."""
    precision: str = "auto"
    """`auto` is bf16 if the hardware supports it, else fp32."""
    compile: str = "auto"
    """Whether pre-training is compiled: `yes`, `no`, or `auto` (on a GPU if it is long); `graphs` adds CUDA graphs."""
    threads: int = 0
    """CPU threads; 0 for one per core."""
    gpus: int = 0
    """0 for the CPU."""
    gpus_per_run: int = 0
    """GPUs per pre-training; 0 to share them evenly among the pre-trainings, or, without Ray, for one each."""
    runs_per_gpu: int = 1
    """Runs that share each GPU, one process each: a small model leaves most of it idle."""
    workers: int = 0
    """Parallel runs on the CPU, one process each, of `threads` threads or one; 0 for this process alone."""
    cluster: str = ""
    """The address of a Ray cluster; empty for this machine."""
    micro_batch: int = 0
    """Sequences per forward pass; 0 for the whole batch of a step."""
    loggers: tuple[str | Opener, ...] = ()
    """What receives training curves and the results of studies: names of `TRACKERS`, or loggers in this process."""

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise unknown("precision", self.precision, PRECISIONS)
        if self.compile not in COMPILATIONS:
            raise unknown("value of --compile", self.compile, COMPILATIONS)
        if self.compile == "graphs" and not self.gpus:
            raise BadInput("--compile graphs needs a GPU: add --gpus 1, or use --compile yes")
        if self.compile == "graphs" and self.micro_batch:
            raise BadInput("--compile graphs and --micro-batch exclude each other: use --compile yes, or leave one out")
        if self.compile in ("yes", "graphs") and not has_compiler():
            raise BadInput(
                f"--compile {self.compile} needs a C++ compiler with OpenMP and Python's headers, and none works here: "
                "install one, or leave the option out"
            )
        for name in self.loggers:
            trackers.check(name)
        for name in ("threads", "gpus", "gpus_per_run", "workers", "micro_batch"):
            if getattr(self, name) < 0:
                raise BadInput(f"--{name.replace('_', '-')} is {getattr(self, name)}: use 0 or more")
        cores = os.cpu_count() or 1
        if self.threads > cores:
            raise BadInput(f"--threads is {self.threads}: this machine has {cores} cores, so use at most {cores}")
        if not self.cluster and self.workers > max(8, 4 * cores):
            raise BadInput(f"--workers is {self.workers}: this machine has {cores} cores, so use about {cores}")
        if not self.is_single_process and not all(isinstance(logger, str) for logger in self.loggers):
            raise BadInput(
                "loggers has objects of this process, and runs have others: leave out workers, GPUs or cluster"
            )
        if self.micro_batch > 1_000_000:
            raise BadInput(f"--micro-batch is {self.micro_batch}: use at most 1,000,000 sequences")
        if self.gpus and self.workers:
            raise BadInput("--gpus and --workers exclude each other: runs use either GPUs or the CPU, leave one out")
        if self.cluster and not (self.gpus or self.workers):
            raise BadInput(f"--cluster {self.cluster}: add --gpus or --workers to say how much of it to use")
        if self.runs_per_gpu < 1:
            raise BadInput(f"--runs-per-gpu is {self.runs_per_gpu}: use 1 or more")
        if self.runs_per_gpu > 1 and not self.gpus:
            raise BadInput(f"--runs-per-gpu is {self.runs_per_gpu}: add --gpus to say how many GPUs runs share")
        if self.runs_per_gpu > 1 and self.gpus_per_run > 1:
            raise BadInput("--runs-per-gpu and --gpus-per-run exclude each other: leave one out")
        if self.gpus_per_run > (self.gpus or self.workers):
            raise BadInput(f"--gpus-per-run is {self.gpus_per_run}: use at most the number of --gpus")
        if self.data is not None and kind(self.data, "--data") != "folder":
            raise BadInput(f"the data directory '{self.data}' does not exist: give an existing directory")

    @property
    def num_threads(self) -> int:
        """CPU threads in use."""
        return self.threads or usable_cores()

    def check(self) -> None:
        """Raises `BadInput` if torch finds fewer GPUs on this machine than `gpus`, or Ray is needed and not there."""
        if self.starts_ray and not find_spec("ray"):
            raise BadInput(
                f"several devices per run and clusters need Ray: {install('cluster')}, or leave out --gpus-per-run and "
                "--cluster"
            )
        if self.gpus and not self.cluster:
            import torch

            if self.gpus > (devices := torch.cuda.device_count()):
                advice = f"use at most {devices}" if devices else "leave out --gpus"
                raise BadInput(f"--gpus is {self.gpus}: torch finds {devices} on this machine, so {advice}")

    @property
    def is_single_process(self) -> bool:
        """Whether this process runs every job itself."""
        return self.devices == 1 and not self.workers and not self.cluster

    @property
    def starts_ray(self) -> bool:
        """Whether runs share devices through Ray: on a cluster, or where a pre-training has or may have several."""
        divided = self.gpus > 1 and self.gpus_per_run == 0 and self.runs_per_gpu == 1
        return bool(self.cluster) or self.gpus_per_run > 1 or (divided and find_spec("ray") is not None)

    @property
    def devices(self) -> int:
        """The number of devices for runs: GPUs, or shares of them, or CPU workers."""
        return self.gpus * self.runs_per_gpu or self.workers or 1

    def cpu_only(self) -> Machine:
        """This process on the CPU, with all cores."""
        way = "yes" if self.compile == "graphs" else self.compile
        return replace(self, gpus=0, gpus_per_run=0, runs_per_gpu=1, workers=0, cluster="", compile=way)

    def per_worker(self) -> Machine:
        """The settings of a worker process, which has one of these devices."""
        threads = self.threads or (max(1, self.num_threads // self.devices) if self.gpus else 1)
        gpus = min(self.gpus, 1)
        return replace(self, gpus=gpus, gpus_per_run=0, runs_per_gpu=1, workers=0, cluster="", threads=threads)

    def limited_to(self, runs: int) -> Machine:
        """This machine with no more processes than there are `runs`; for a single one, the settings of a worker."""
        if runs <= 1:
            return self.per_worker()
        gpus = min(self.gpus, runs)
        share = min(self.runs_per_gpu, -(-runs // gpus)) if gpus else 1
        return replace(self, gpus=gpus, runs_per_gpu=share, workers=min(self.workers, runs))

    @property
    def device(self) -> str:
        """The torch device type of this machine's computations."""
        return "cuda" if self.gpus else "cpu"

    def compiles(self, recipe: Recipe) -> bool:
        """Whether pre-training `recipe` is compiled; not if batches have many shapes, as each needs its own graph."""
        varied = recipe.inputs.format.token_matched_to or any(loss.share < 1 for loss in recipe.objective)
        if self.compile == "no" or varied or not recipe.model.compiled or len(recipe.stages) > COMPILE_MAX_STAGES:
            return False
        if self.compile != "auto":
            return True
        return self.gpus > 0 and recipe.schedule.steps >= COMPILE_MIN_STEPS and has_compiler()

    def compile_options(self, recipe: Recipe) -> dict[str, Any]:
        """How `torch.compile` compiles the pre-training of `recipe`.

        A long one on the CPU also has the calls of its kernels compiled: at scale tiny, steps are a tenth faster for
        half a minute more of compiling.
        """
        if self.compile == "graphs":
            return {"mode": "reduce-overhead"}
        calls = not self.gpus and recipe.schedule.steps >= COMPILE_MIN_STEPS
        return {"options": {"cpp_wrapper": True}} if calls else {}

    @property
    def device_name(self) -> str:
        """The name of the GPU, or `cpu`; `cuda` where this process sees no GPU but its workers may."""
        if not self.gpus:
            return "cpu"
        import torch

        return torch.cuda.get_device_name() if torch.cuda.is_available() else "cuda"

    @property
    def precision_used(self) -> str:
        """The precision of matrix products: `bf16` if given or, with `auto`, if the hardware has it; else `fp32`."""
        automatic = self.precision == "auto" and has_bf16(self.device)
        return "bf16" if automatic else self.precision.replace("auto", "fp32")

    def numerics(self, compiled: bool = False) -> dict[str, str | int]:
        """Everything that can change the last bits of a number, such as whether its training is `compiled`."""
        import torch

        numerics: dict[str, str | int] = {
            "torch": torch.__version__,
            "device": self.device_name,
            "precision": self.precision_used,
        }
        if self.device == "cpu":
            numerics |= {"threads": self.num_threads, "instructions": instructions(self.precision_used)}
        return numerics | {"compiled": "yes"} if compiled else numerics

    def environment(self, compiled: bool = False) -> dict[str, Any]:
        """The record of the machine with a result, whose training may be `compiled`."""
        from importlib.metadata import version

        names = ("torch", "lightning", "tokenizers", "numpy")
        return {
            "numerics": self.numerics(compiled),
            "processor": processor(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
            "date": datetime.now(UTC).date().isoformat(),
            "commit": commit(),
            "versions": {"bertlab": __version__} | {name: version(name) for name in names},
        }


def usable_cores() -> int:
    """The cores that the system lets this process use."""
    if hasattr(os, "sched_getaffinity"):  # macOS has no affinity
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def runs_that_fit(threads: int) -> int:
    """The number of runs of `threads` threads for which this process may use cores and memory, at least one."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    memory = min(machine, cgroups.memory() or machine)
    allowed = usable_cores()
    cores = min(allowed, cgroups.cores() or allowed)
    return max(1, min(cores // threads, round(memory / WORKER_BYTES)))


def instructions(precision: str) -> str:
    """The widest instructions for matrix products in `precision` on this processor: each set sums in another order.

    `ONEDNN_MAX_CPU_ISA` sets a limit, so that a processor with AMX computes the bits of one without.
    """
    from torch.backends.cpu import get_cpu_capability

    limit = os.environ.get("ONEDNN_MAX_CPU_ISA", "ALL").upper()
    amx = precision == "bf16" and "amx_bf16" in _cpuinfo() and (limit in ("ALL", "DEFAULT") or "AMX" in limit)
    return "AMX" if amx else get_cpu_capability()


@cache
def commit() -> str:
    """The commit of the source tree that the package runs from or was installed from, `-dirty` with changes; empty if
    unknown."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return _installed_commit()
    command = ["git", "--no-optional-locks", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):  # no git, or another owner's tree
        return ""
    return finished.stdout.strip()


def _installed_commit() -> str:
    """The commit in the version of this copy, `0.1.0.dev1200+gabc1234.dirty`; empty if it was not installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        installed = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return ""
    if Path(str(installed.locate_file("bertlab/machine.py"))).resolve() != Path(__file__).resolve():
        return ""  # that of another copy
    return installed.version.partition("+g")[2].replace(".", "-")


@cache
def _cpuinfo() -> str:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8") if path.exists() else ""


def processor() -> str:
    """The name of the processor."""
    name = re.search(r"^model name\s*:\s*(.*\S)", _cpuinfo(), re.MULTILINE)
    return name[1] if name else platform.processor() or platform.machine()


@cache
def has_compiler() -> bool:
    """Whether a C++ compiler with OpenMP and Python's headers, which torch.compile needs, works. Tries it once."""
    compiler = os.environ.get("CXX") or which("g++") or which("clang++")
    if not compiler:
        return False
    options = ["-x", "c++", "-fsyntax-only", "-fopenmp", "-I", sysconfig.get_path("include"), "-"]
    needed = "#include <Python.h>\n#include <omp.h>\n#include <vector>\n"
    try:
        subprocess.run([compiler, *options], check=True, input=needed, text=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


@cache
def has_bf16(device: str) -> bool:
    """Whether `device` multiplies matrices in bf16 in hardware."""
    if device == "cuda":
        import torch

        return torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
    return "amx_bf16" in _cpuinfo() or "avx512_bf16" in _cpuinfo()
