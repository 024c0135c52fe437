"""`bertlab submit`: a command as jobs of SLURM."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, Names, argument, flag, option
from bertlab.errors import BadInput

COMMANDS = ("ablate", "pretrain")
"""Commands that compute for long and have a dry run."""


def submit(
    command: list[str] = argument(..., "-- COMMAND", "What to run: -- ablate or pretrain with their options."),
    nodes: int = option(1, "N", "Nodes; each is a job, which starts when a node is free.", min=1),
    gpus_per_node: int = option(0, "G", "GPUs of each node; 0: the CPU.", min=0),
    cpus_per_node: int = option(0, "C", "CPUs of each node; 0: the whole node.", min=0),
    time: str = option("24h", "TIME", "Time limit, such as 90m, 24h or 2d; jobs that reach it continue."),
    sbatch: Names = option(None, "NAME=VALUE", "An option of sbatch, such as partition=gpu or account=me; repeatable."),
    setup: Names = option(None, "LINE", "Shell before the command, such as 'module load cuda'; repeatable."),
    logs: Path = option(Path("submitted"), "DIR", "Where the jobs write what they print."),
    on: str = option("slurm", "slurm|local", "local: as processes of this machine, to try it."),
    dry_run: bool = flag("Print the plan and the batch script, and exit."),
    json: bool = JSON,
) -> int:
    """Submit a command to SLURM.

    Prints its plan first. Each node runs the whole command; they share the store, and each run is computed by one of
    them. Interrupted jobs save, and continue when they are queued again.

    Example: bertlab submit --nodes 4 --gpus-per-node 8 --sbatch partition=gpu -- ablate all --scale base --seeds 4
    """
    from bertlab.execution import on_slurm

    _check(command[0], on, for_slurm=bool(setup or sbatch or cpus_per_node))
    asked = on_slurm.Nodes(
        number=nodes,
        gpus=gpus_per_node,
        cpus=cpus_per_node,
        minutes=_minutes(time),
        options=_options(sbatch),
        setup=setup or (),
    )
    arguments = [*command, *_gpus_of_node(command, gpus_per_node)]
    script = on_slurm.script(asked, logs)
    # --json leaves standard output to the document
    out = sys.stderr if json else None
    plan = subprocess.run([sys.executable, "-m", "bertlab", *arguments, "--dry-run"], check=False, stdout=out)
    if plan.returncode or "--dry-run" in command:
        return plan.returncode
    jobs = [] if dry_run else on_slurm.submit(arguments, asked, logs, on)
    for job in jobs:
        say(f"job {job.job_id}: bertlab {shlex.join(arguments)}, output in {job.paths.stdout}")
    if json:
        submitted = [{"id": job.job_id, "output": str(job.paths.stdout)} for job in jobs]
        print_json({"command": ["bertlab", *arguments], "script": script, "jobs": submitted})
    elif dry_run:
        say(f"\n{script}")
    return 0


def _check(command: str, on: str, *, for_slurm: bool) -> None:
    """Raises `BadInput` for another command or place, and for options that are `for_slurm` elsewhere."""
    from bertlab.execution import on_slurm

    if command not in COMMANDS:
        raise BadInput(f"`submit` runs {' or '.join(COMMANDS)}, not '{command}'")
    if on not in on_slurm.PLACES:
        raise BadInput(f"--on is '{on}': use {' or '.join(on_slurm.PLACES)}")
    if on == "local" and for_slurm:
        raise BadInput("--setup, --sbatch and --cpus-per-node are for SLURM: leave them out with --on local")


def _gpus_of_node(command: list[str], gpus: int) -> list[str]:
    """The option that lets a command use the GPUs of its node, unless it has one. Raises `BadInput` for more GPUs."""
    match = re.search(r"(?:^| )--gpus(?:=| )(\d+)", " ".join(command))
    if match and int(match[1]) > gpus:
        raise BadInput(f"the command has --gpus {match[1]}, and --gpus-per-node is {gpus}: ask for as many")
    return ["--gpus", str(gpus)] if gpus and not match else []


def _minutes(text: str) -> int:
    match = re.fullmatch(r"(?a:(\d{1,5})(m|h|d))", text)
    minutes = int(match[1]) * {"m": 1, "h": 60, "d": 1440}[match[2]] if match else 0
    if not minutes:
        raise BadInput(f"--time is {text[:40]!r}: give a time such as 90m, 24h or 2d")
    return minutes


def _options(pairs: Names) -> dict[str, str]:
    """The options of sbatch by name. Raises `BadInput` for what is not NAME=VALUE on one line."""
    options = {}
    for pair in pairs or ():
        name, equals, value = pair.removeprefix("--").partition("=")
        if not (re.fullmatch(r"[a-z][a-z-]*", name) and equals and value and value.isprintable()):
            raise BadInput(f"--sbatch '{pair}': write NAME=VALUE, such as partition=gpu")
        options[name] = value
    return options
