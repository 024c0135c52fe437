"""Jobs of SLURM: the batch script that submitit makes; jobs that its local executor runs, interrupts and repeats."""

import os
import signal
import sys
from types import SimpleNamespace

import pytest

from bertlab.cli.submit import _minutes
from bertlab.errors import BadInput
from bertlab.execution import on_slurm
from bertlab.execution.on_slurm import Nodes, Program

submitit = pytest.importorskip("submitit")
DRY = ("submit", "--dry-run", "--nodes", 3, "--gpus-per-node", 8, "--time", "36h")


def test_a_dry_run_prints_the_plan_and_the_script_and_writes_nothing(call, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    more = ("--sbatch", "partition=gpu", "--setup", "module load cuda", "--", "ablate", "masking", "--scale", "smoke")
    assert call(*DRY, *more) == 0
    shown = capfd.readouterr().out
    assert "pretrain" in shown.partition("#!/bin/bash")[0], "the plan of the command comes first"
    lines = shown.partition("#!/bin/bash")[2].splitlines()
    for each in (
        "array=0-2%3",
        "nodes=1",
        "ntasks-per-node=1",
        "gpus-per-node=8",
        "partition=gpu",
        "requeue",
        "exclusive",
    ):
        assert f"#SBATCH --{each}" in lines
    assert f"#SBATCH --time={36 * 60}" in lines
    assert f"#SBATCH --signal=USR2@{on_slurm.SECONDS_TO_SAVE}" in lines
    assert lines.index("module load cuda") < next(i for i, line in enumerate(lines) if line.startswith("srun "))
    assert f"{sys.executable} -u -m submitit.core._submit {tmp_path}/submitted" in lines[-2]
    assert not list(tmp_path.iterdir())


def test_the_jobs_run_the_command_with_the_gpus_of_a_node(call, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("subprocess.run", lambda plan, **_: SimpleNamespace(returncode=asked.append(plan[3:])))
    job = SimpleNamespace(job_id="7", paths=SimpleNamespace(stdout=tmp_path))
    monkeypatch.setattr(on_slurm, "submit", lambda arguments, *_: asked.append(arguments) or [job])
    assert call("submit", "--gpus-per-node", 4, "--", "ablate", "nsp", "--seeds", "2") == 0
    assert asked == [[*asked[1], "--dry-run"], ["ablate", "nsp", "--seeds", "2", "--gpus", "4"]]
    assert call("submit", "--gpus-per-node", 4, "--", "ablate", "nsp", "--gpus=2") == 0
    assert asked[-1] == ["ablate", "nsp", "--gpus=2"]
    assert call("submit", "--gpus-per-node", 4, "--", "ablate", "nsp", "--gpus=4") == 0
    assert [_minutes(time) for time in ("90m", "24h", "2d")] == [90, 1440, 2880]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--", "report"), "`submit` runs ablate or pretrain, not 'report'"),
        (("--time", "1:00", "--", "ablate", "nsp"), "--time is '1:00'"),
        (("--sbatch", "gpu", "--", "ablate", "nsp"), "write NAME=VALUE, such as partition=gpu"),
        (("--sbatch", "comment=a\nrm", "--", "ablate", "nsp"), "write NAME=VALUE"),
        (("--on", "moon", "--", "ablate", "nsp"), "use slurm or local"),
        (("--on", "local", "--setup", "module load cuda", "--", "ablate", "nsp"), "leave them out with --on local"),
        (("--", "ablate", "nsp", "--gpus", "8"), "the command has --gpus 8, and --gpus-per-node is 0"),
        (("--gpus-per-node", 4, "--", "ablate", "nsp", "--gpus=8"), "--gpus-per-node is 4"),
    ],
)
def test_what_cannot_be_submitted_is_one_line(call, capsys, given, message):
    assert call("submit", *given) == 2
    assert message in capsys.readouterr().err


def test_a_wrong_command_is_not_submitted(call, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert call("submit", "--on", "local", "--", "ablate", "maskin") == 2
    assert "did you mean 'masking'" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


def test_without_slurm_or_submitit_and_where_slurm_refuses_nothing_is_left(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="this machine has no SLURM"):
        on_slurm.submit(["ablate", "nsp"], Nodes(), tmp_path / "logs")
    for program in ("srun", "sbatch"):
        (tmp_path / program).write_text("#!/bin/sh\necho no such partition >&2\nexit 1\n")
        (tmp_path / program).chmod(0o755)
    with pytest.raises(BadInput, match=r"SLURM refuses the job .*no such partition"):
        on_slurm.submit(["ablate", "nsp"], Nodes(), tmp_path / "logs")
    assert not (tmp_path / "logs").exists()
    monkeypatch.setattr(on_slurm, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"run `pip install -c constraints.txt '\.\[slurm\]'` in the source tree"):
        on_slurm.script(Nodes(), tmp_path)


def test_a_job_that_is_interrupted_saves_and_runs_again(tmp_path, until):
    """In submitit's local executor, which starts it again as SLURM does."""
    program = tmp_path / "program.py"  # in place of bertlab: it saves at SIGUSR1, and is finished the second time
    program.write_text(
        "import os, signal, sys, time\n"
        f"os.chdir({str(tmp_path)!r})\n"
        "def save(*_):\n    open('saved', 'w').write(' '.join(sys.argv[1:]))\n    sys.exit(143)\n"
        "signal.signal(signal.SIGUSR1, save)\n"
        "if os.path.exists('saved'):\n    open('finished', 'w').close()\n    sys.exit(0)\n"
        "with open('beginning', 'w') as file:\n    file.write(str(os.getppid()))\n"
        "os.rename('beginning', 'begun')\ntime.sleep(1800)\n"
    )
    executor = submitit.LocalExecutor(tmp_path / "logs", max_num_timeout=on_slurm.MOST_RESTARTS)
    executor.update_parameters(timeout_min=60)
    job = executor.submit(Program(("ablate", "nsp"), (sys.executable, str(program))))
    try:
        until((tmp_path / "begun").exists)
        os.kill(int((tmp_path / "begun").read_text()), signal.SIGUSR2)  # which SLURM sends
        until((tmp_path / "finished").exists)
        assert job.result() is None
    finally:
        job.cancel()
    assert (tmp_path / "saved").read_text() == "ablate nsp"


def test_children_ignore_the_signal_of_submitit_and_failures_are_errors():
    with pytest.raises(RuntimeError, match="`bertlab ablate nsp` ended with status 3"):
        Program(("ablate", "nsp"), ("sh", "-c", "kill -USR2 $$ && exit 3"))()
