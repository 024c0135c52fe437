"""What must not change a result: devices, precision, threads, and where files lie."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

from bertlab import __version__
from bertlab.errors import BadInput, unknown
from bertlab.store.files import expanded, kind

if TYPE_CHECKING:
    from bertlab.recipe import Recipe

PRECISIONS = ("auto", "fp32", "bf16")
COMPILATIONS = ("auto", "yes", "no", "graphs")
CACHE = "~/.cache/bertlab"
LONG = 5000
"""Steps of a training from which on compiling it, about a minute, is sure to pay."""
LOGGERS = {"tensorboard": ("tensorboard", "tensorboardX"), "wandb": ("wandb",)}
"""Where curves can go as well, each with the packages of which one has to be installed."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The settings of this machine. None of them enters the id of a run; the numerics are stamped on its result."""

    runs: Path = Path("runs")
    """The store of runs."""
    data: Path | None = None
    """A local mirror of tasks and corpora, looked in before the Hub."""
    cache: Path = field(default_factory=lambda: expanded(os.environ.get("BERTLAB_CACHE") or CACHE, "BERTLAB_CACHE"))
    """What can be thrown away: an index of file hashes. `BERTLAB_CACHE` sets the default."""
    precision: str = "auto"
    """`auto` is bf16 where the hardware has it, fp32 elsewhere."""
    compile: str = "auto"
    """Whether pre-training goes through a compiled graph: `yes`, `no`, or `auto`, on a GPU if it is long; `graphs`
    replays it as CUDA graphs besides."""
    threads: int = 0
    """CPU threads; 0 for one a core."""
    gpus: int = 0
    """How many GPUs; 0 for the CPU."""
    gpus_per_run: int = 0
    """Devices that one pre-training is spread over; 0 for 1 while there are at least as many runs as GPUs."""
    workers: int = 0
    """Processes on the CPU that each carry out a run, with one thread; 0 for this process alone."""
    cluster: str = ""
    """The address of a Ray cluster whose devices are used."""
    micro_batch: int = 0
    """Sequences that go through the model at once; 0 for the whole batch of a step."""
    loggers: tuple[str, ...] = ()
    """Which of `LOGGERS` are told of the curves of runs."""

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise unknown("precision", self.precision, PRECISIONS)
        if self.compile not in COMPILATIONS:
            raise unknown("way to compile", self.compile, COMPILATIONS)
        if self.compile == "graphs" and not self.gpus:
            raise BadInput("--compile graphs: CUDA graphs need a GPU, give --gpus or --compile yes")
        if self.compile in ("yes", "graphs") and not has_compiler():
            raise BadInput(
                f"--compile {self.compile}: there is no C++ compiler that works, with OpenMP and Python's headers: "
                "install one, or leave the option out"
            )
        for name in self.loggers:
            if name not in LOGGERS:
                raise unknown("logger", name, LOGGERS)
            if not any(find_spec(package) for package in LOGGERS[name]):
                raise BadInput(
                    f"--logger {name} is not installed: in the source tree of bertlab give `pip install '.[{name}]'` "
                    "with the pip of this environment, or leave the option out"
                )
        there = os.cpu_count() or 1
        if self.threads > there:
            raise BadInput(f"--threads is {self.threads}: this machine has {there} cores, give at most as many")
        if not self.cluster and self.workers > max(8, 4 * there):
            raise BadInput(f"--workers is {self.workers}: this machine has {there} cores, give about as many")
        if self.micro_batch > 1_000_000:
            raise BadInput(f"--micro-batch is {self.micro_batch}: give at most 1,000,000 sequences")
        if self.gpus and self.workers:
            raise BadInput("--gpus and --workers: a run is on a GPU or on the CPU, give one of the two")
        if self.cluster and not (self.gpus or self.workers):
            raise BadInput(f"--cluster {self.cluster}: say how much of it to use with --gpus or --workers")
        if self.gpus_per_run > (self.gpus or self.workers):
            raise BadInput(f"--gpus-per-run is {self.gpus_per_run}: give at most as many as --gpus")
        if self.data is not None and kind(self.data, "--data") != "folder":
            raise BadInput(f"the data directory '{self.data}' does not exist: give a local mirror with --data")

    @property
    def cores(self) -> int:
        """CPU threads that are used."""
        if self.threads:
            return self.threads
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def check(self) -> None:
        """Raises `BadInput` if there are fewer GPUs than are asked for."""
        if self.gpus:
            import torch

            if self.gpus > (there := torch.cuda.device_count()):
                raise BadInput(f"--gpus is {self.gpus}: torch finds {there} on this machine")

    @property
    def alone(self) -> bool:
        """Whether this process carries out everything."""
        return self.gpus <= 1 and not self.workers and not self.cluster

    @property
    def devices(self) -> int:
        """Runs of one device that are carried out side by side."""
        return self.gpus or self.workers or 1

    def here(self) -> Machine:
        """The CPU of this machine alone, all its cores."""
        return replace(self, gpus=0, gpus_per_run=0, workers=0, cluster="")

    def one(self) -> Machine:
        """The machine of a process that has one of these devices."""
        threads = self.threads or (max(1, self.cores // self.gpus) if self.gpus else 1)
        return replace(self, gpus=min(self.gpus, 1), gpus_per_run=0, workers=0, cluster="", threads=threads)

    @property
    def device(self) -> str:
        """The torch device type of this machine's computations."""
        return "cuda" if self.gpus else "cpu"

    def bf16(self) -> bool:
        """Whether matrix products run in bf16: as asked for or, with `auto`, where the hardware has it."""
        return self.precision == "bf16" or (self.precision == "auto" and has_bf16(self.device))

    def compiles(self, recipe: Recipe) -> bool:
        """Whether pre-training `recipe` goes through a compiled graph.

        Not where batches differ in their rows, each of which would be a graph of its own; nor on the CPU if it has
        dropout, whose random bits are drawn outside of graphs there.
        """
        if self.compile == "no" or recipe.inputs.token_matched_to or (recipe.model.dropout and not self.gpus):
            return False
        return self.compile != "auto" or (self.gpus > 0 and recipe.schedule.steps >= LONG and has_compiler())

    @property
    def device_name(self) -> str:
        """The name of the GPU, or `cpu`; without one that is seen here, as before a group of processes, `cuda`."""
        if not self.gpus:
            return "cpu"
        import torch

        return torch.cuda.get_device_name() if torch.cuda.is_available() else "cuda"

    @property
    def precision_used(self) -> str:
        """`bf16` or `fp32`."""
        return "bf16" if self.bf16() else "fp32"

    def numerics(self, pretrained: Recipe | None = None) -> dict[str, str | int]:
        """What can change the last bits of a number, of a recipe that is `pretrained` or of anything else: stamped on
        each result, never part of an id."""
        import torch

        numerics: dict[str, str | int] = {
            "torch": torch.__version__,
            "device": self.device_name,
            "precision": self.precision_used,
            "threads": self.cores,
        }
        return numerics | {"compiled": "yes"} if pretrained and self.compiles(pretrained) else numerics

    def environment(self, pretrained: Recipe | None = None) -> dict[str, Any]:
        """Numerics, and what else a reader of a result may ask about the machine that it was made on."""
        import platform
        from importlib.metadata import version

        names = ("torch", "lightning", "tokenizers", "numpy")
        return {
            "numerics": self.numerics(pretrained),
            "processor": processor(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
            "versions": {"bertlab": __version__} | {name: version(name) for name in names},
        }


@cache
def processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    import platform

    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


@cache
def has_compiler() -> bool:
    """Whether what torch compiles with works: a C++ compiler with OpenMP and Python's headers. Tries it, once."""
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
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    return "amx_bf16" in flags or "avx512_bf16" in flags
