"""Worker processes: no run is lost with a worker, a signal or the command itself."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from bertlab.execution import on_ray
from bertlab.store.locks import locked, record
from bertlab.store.runs import Store

RUN = (sys.executable, "-m", "bertlab")
STUDY = ("ablate", "masking", "--scale", "smoke", "--only", "80/10/10", "--only", "0/0/100", "--precision", "fp32")
LONG = ("--set", "schedule.steps=4000")


def start(runs, *more, **options):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "RUNS_OF_THIS_TEST": str(runs)}
    command = [*RUN, *STUDY, *more, "--runs", str(runs)]
    options = {"stderr": subprocess.STDOUT, **options}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, **options)


def begun_with(name, value):
    """Ids of processes that live and have an environment variable of this value."""
    mark, found = f"{name}={value}".encode(), []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def session(pid):
    """The folders of Ray's sessions of a command."""
    folders = Path("/tmp").glob(f"{on_ray.PRIVATE}*")
    return [path for path in folders if (holder := record(path / "lock")) and holder.pid == pid]


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_a_killed_worker_is_replaced_and_its_run_goes_on(tmp_path, until, at_work):
    process = start(tmp_path / "runs", "--workers", "2", *LONG)
    until(lambda: len(at_work(tmp_path / "runs")) == 2)
    (killed, pid), _ = at_work(tmp_path / "runs").items()
    os.kill(pid, signal.SIGKILL)
    until(lambda: at_work(tmp_path / "runs").get(killed) not in (None, pid))
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == 130, output
    assert "give the same command again" in output.splitlines()[-1]
    assert len(list((tmp_path / "runs").glob("pretrain/.*.work/checkpoint/step-*"))) == 2
    assert not Store(tmp_path / "runs").failures()
    assert not list((tmp_path / "runs" / ".locks").glob("stop.*"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_when_the_command_is_killed_no_worker_is_left(tmp_path, until, at_work):
    process = start(tmp_path / "runs", "--workers", "2", *LONG)
    until(lambda: len(at_work(tmp_path / "runs")) == 2)
    pids = [*at_work(tmp_path / "runs").values()]
    assert all(map(alive, pids))
    process.kill()
    process.communicate()
    until(lambda: not any(map(alive, pids)))
    until(lambda: not any(active for _, _, active in Store(tmp_path / "runs").unfinished()))


def program_of(pid):
    """The command line of a process; empty when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    except OSError:
        return ""


def while_ray_starts():
    """The program of Ray's that has just begun, after the folder of the session, which is the first."""
    often, found = [("gcs_server", signal.SIGTERM)], []
    for program in ("", "gcs_server", "raylet", "monitor", "default_worker"):
        for number in (signal.SIGTERM, signal.SIGINT):
            marks = [] if (program, number) in often else pytest.mark.faults
            found.append(pytest.param(program, number, marks=marks, id=f"{program or 'folder'}-{number.name}"))
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
@pytest.mark.parametrize(("program", "number"), while_ray_starts())
def test_a_signal_while_ray_starts_ends_the_command_and_ray(tmp_path, until, program, number):
    """It goes to all processes of the group, as `timeout` and terminals have it."""
    group = ("--workers", "2", "--gpus-per-run", "2")
    process = start(tmp_path / "runs", *group, *LONG, stderr=subprocess.PIPE, start_new_session=True)
    until(lambda: session(process.pid))
    (folder,) = session(process.pid)
    until(lambda: not program or any(program in program_of(pid) for pid in begun_with(on_ray.OWNER, folder)))
    os.killpg(process.pid, number)
    _, errors = process.communicate(timeout=600)  # as long as Ray takes to start: four seconds where nothing else runs
    assert process.returncode == 128 + number, errors
    assert errors.count("\n") == 1
    assert f"interrupted by {number.name}" in errors
    until(lambda: not begun_with("RUNS_OF_THIS_TEST", tmp_path / "runs"))
    assert not folder.exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_what_a_killed_command_left_of_ray_is_removed_by_the_next_one(until):
    other, held = (Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp")) for prefix in ("", on_ray.PRIVATE))
    left = other.with_name(on_ray.PRIVATE + other.name)
    environment = {on_ray.OWNER: str(left)}
    waiting = [subprocess.Popen(["/bin/sleep", "900"], env=each) for each in (environment, {})]
    try:
        # a process that has just begun shows no environment for a moment
        until(lambda: begun_with(on_ray.OWNER, left) == [waiting[0].pid])
        other.rename(left)  # only now: tests beside this one also remove what they find
        with locked(held / "lock"):
            with on_ray._private_folder() as private:
                assert private.stat().st_mode & 0o777 == 0o700
                assert [each.exists() for each in (left, held)] == [False, True]
                assert waiting[0].wait(600) == -signal.SIGKILL
                assert waiting[1].poll() is None
            assert not private.exists()
    finally:
        for each in waiting:
            each.kill()
            each.wait()
        on_ray._remove(held)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--gpus", "64"), "--gpus is 64: torch finds"),
        (("--cluster", "auto"), "add --gpus or --workers to say how much"),
        (("--gpus", "2", "--workers", "2"), "leave one out"),
        (("--workers", "2", "--gpus-per-run", "3"), "at most the number of --gpus"),
    ],
)
def test_devices_that_are_not_there_give_one_line(call, capsys, options, message, tmp_path):
    assert call(*STUDY, *options, "--runs", tmp_path / "runs") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not list(tmp_path.iterdir())


def test_a_cluster_that_does_not_answer_gives_one_line(tmp_path):
    process = start(tmp_path / "runs", "--cluster", "127.0.0.1:1", "--workers", "2")
    output, _ = process.communicate()
    assert process.returncode == 2, output
    assert "no Ray cluster answers at '127.0.0.1:1'" in output.splitlines()[-1]
    assert "Traceback" not in output


OWN_LOSS = '''from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from bertlab import MaskedLM, Measurement, Study, Variant
from bertlab.recipe.ranges import SHARE


@dataclass(frozen=True, kw_only=True)
class Half(MaskedLM):
    """Masked LM that learns from the first slots alone."""

    kind: ClassVar[str] = "half"
    used: Annotated[float, SHARE] = 0.5

    def batch_transform(self, tokenizer, length, seed):
        examples = super().batch_transform(tokenizer, length, seed)

        def made(sequences):
            arrays = dict(examples(sequences))
            slots = max(1, int(self.used * arrays["weights"].shape[1]))
            for name in arrays:
                arrays[name][:, slots:] = 0
            return arrays

        return made


study = Study(
    name="own", question="?", source="me", baseline="a",
    variants=[Variant("a", objective=(Half(),)), Variant("plain", objective=(Half(used=1.0),))],
    measurements=[Measurement("loss", metric="masked_lm_loss")],
)
'''


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Trains variants of a study with a loss of its own: ids and held-out losses by variant, and the store."""
    file = tmp_path_factory.mktemp("own") / "own.py"
    file.write_text(OWN_LOSS)

    def trained(runs, *more):
        command = [*RUN, "ablate", str(file), "--scale", "smoke", "--precision", "fp32", "--threads", "1"]
        command += ["--runs", str(runs), "--set", "schedule.steps=4", *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found = {run.label: run for run in Store(runs).runs() if run.kind == "pretrain"}
        return {label: (run.id, run.result().heldout) for label, run in found.items() if label.endswith("seed0")}

    runs = file.parent / "alone"
    return trained, trained(runs, "--workers", "0"), runs


@pytest.mark.parametrize(
    "more",
    [("--seeds", "2"), pytest.param(("--gpus-per-run", "2"), marks=pytest.mark.faults)],
    ids=["workers", "group"],
)
def test_workers_train_the_loss_of_a_study_file(own, tmp_path, more):
    trained, alone, runs = own
    shutil.copytree(runs / "corpus", tmp_path / "runs" / "corpus")
    run_id, heldout = trained(tmp_path / "runs", "--only", "a", "--workers", "2", *more)["own-a-seed0"]
    assert run_id == alone["own-a-seed0"][0]
    if "--seeds" in more:
        assert heldout == alone["own-a-seed0"][1]
    else:  # dropout differs between processes
        assert heldout["masked_lm_loss"] == pytest.approx(alone["own-a-seed0"][1]["masked_lm_loss"], rel=1e-3)
    assert alone["own-plain-seed0"][0] != run_id
    assert alone["own-plain-seed0"][1] != alone["own-a-seed0"][1]
