"""A command of bertlab as jobs of SLURM, by submitit: one job per node; each job runs the whole command.

The jobs share the store as any commands do: each run is computed by one of them. They need no cluster of their own, and
start and end when a node is free.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.errors import BadInput, install, writing

if TYPE_CHECKING:
    import submitit

SECONDS_TO_SAVE = 120
"""How long before its end a job saves and is queued again."""
MOST_RESTARTS = 1000
"""How often a job may reach its time limit."""
PLACES = ("slurm", "local")


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """What the jobs of a command ask of SLURM, a node each."""

    number: int = 1
    gpus: int = 0
    """GPUs of each node."""
    cpus: int = 0
    """CPUs of each node; 0 for the whole node."""
    minutes: int = 24 * 60
    options: Mapping[str, str] = field(default_factory=dict)
    """Further options of sbatch, by their long names."""
    setup: Sequence[str] = ()
    """Lines of shell before the command."""

    def parameters(self) -> dict[str, Any]:
        """The parameters of submitit's executor for SLURM."""
        setup = list(self.setup)
        whole: dict[str, Any] = {"cpus_per_task": self.cpus}
        if not self.cpus:
            whole = {"exclusive": True}
            setup.append('export SRUN_CPUS_PER_TASK="$SLURM_CPUS_ON_NODE"')  # otherwise the job has one
        return {
            **{"job_name": "bertlab", "time": self.minutes, "nodes": 1, "ntasks_per_node": 1, **whole},
            **({"gpus_per_node": self.gpus} if self.gpus else {}),
            **({"setup": setup} if setup else {}),
            "signal_delay_s": SECONDS_TO_SAVE,
            "additional_parameters": {"requeue": True, **self.options},  # also where a job is preempted
        }


@dataclass(frozen=True)
class Program:
    """A command as a function that submitit calls in a job, and again when the job was interrupted."""

    arguments: Sequence[str]
    program: Sequence[str] = (sys.executable, "-m", "bertlab")
    _children: "list[subprocess.Popen[bytes]]" = field(default_factory=list, init=False, repr=False)

    def __call__(self) -> None:
        """Runs the command to its end. Raises `RuntimeError` if it has no result."""
        # SLURM may send the signal, which is submitit's, to all processes of a job. This process has no other thread.
        child = subprocess.Popen([*self.program, *self.arguments], preexec_fn=_ignore)  # noqa: PLW1509
        self._children.append(child)
        if status := child.wait():
            raise RuntimeError(f"`bertlab {shlex.join(self.arguments)}` ended with status {status}")

    def checkpoint(self) -> "submitit.helpers.DelayedSubmission":
        """Lets the command save and stop, which its time in the queue interrupts; the same command resumes."""
        from submitit.helpers import DelayedSubmission

        for child in self._children:
            os.kill(child.pid, signal.SIGUSR1)
            # Not `child.wait`: the call that submitit's signal interrupts may hold its lock.
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        return DelayedSubmission(Program(self.arguments, self.program))


def _ignore() -> None:
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)


def script(nodes: Nodes, folder: Path) -> str:
    """The batch script that SLURM gets."""
    require()
    from submitit.slurm.slurm import _make_sbatch_string

    array = {"map_count": nodes.number} if nodes.number > 1 else {}
    command = f"{shlex.quote(sys.executable)} -u -m submitit.core._submit {shlex.quote(str(folder.absolute()))}"
    return str(_make_sbatch_string(command, folder.absolute(), **nodes.parameters(), **array))


def submit(arguments: Sequence[str], nodes: Nodes, folder: Path, cluster: str = "slurm") -> "list[submitit.Job[None]]":
    """Submits a command; returns its jobs, whose output is in `folder`. `local` runs them on this machine.

    Raises `BadInput` without SLURM or submitit.
    """
    require()
    import submitit

    if cluster == "local":
        executor: Any = submitit.LocalExecutor(folder, max_num_timeout=MOST_RESTARTS)
        executor.update_parameters(timeout_min=nodes.minutes, gpus_per_node=nodes.gpus)
    else:
        try:
            executor = submitit.SlurmExecutor(folder, max_num_timeout=MOST_RESTARTS)
        except RuntimeError as error:  # there is no srun
            raise BadInput(
                f"this machine has no SLURM ({error}): submit from one that has, or use --on local"
            ) from None
        executor.update_parameters(**nodes.parameters())
    fresh = not folder.exists()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        with executor.batch():
            jobs: list[submitit.Job[None]] = [executor.submit(Program(arguments)) for _ in range(nodes.number)]
    except (submitit.core.utils.FailedJobError, submitit.core.utils.FailedSubmissionError) as error:
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        reason = next((line for line in reversed(str(error).splitlines()) if line.strip()), "")
        raise BadInput(f"SLURM refuses the job ({reason}): change --sbatch, --time or the number of GPUs") from error
    return jobs


def require() -> None:
    """Raises `BadInput` if submitit is not installed."""
    if not find_spec("submitit"):
        raise BadInput(f"`bertlab submit` needs submitit: {install('slurm')}")
