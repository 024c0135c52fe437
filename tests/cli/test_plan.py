"""`bertlab plan`: what it tells, that it changes nothing, what it refuses; and that `bertlab bench` prints its
figures."""

import dataclasses
import json
import re
import resource
import tempfile

import pytest

from bertlab import errors
from bertlab.cli import plan
from bertlab.estimates import microbenchmark
from bertlab.estimates.cost import Cost
from bertlab.machine import Machine
from bertlab.wording import format_count, megabytes

AMOUNT = {"pretrainings", "measurements", "corpora", "trunks", "tokens", "flops", "seconds", "disk_bytes"}


@pytest.fixture
def planned(call, capsys):
    """The JSON of a plan."""

    def plan(*arguments):
        assert call("plan", *arguments, "--json") == 0
        return json.loads(capsys.readouterr().out)

    return plan


def files(directory):
    return {path: path.stat().st_mtime_ns for path in directory.rglob("*")}


def test_a_finished_study_has_nothing_to_do(call, planned, capsys, smoke, finished):
    arguments = (*smoke[1:], "--runs", finished)
    before = files(finished)
    found = planned(*arguments)
    assert {name for name, value in found["to_do"].items() if value} == set()
    assert found["done"] == {"corpus": 1, "pretrain": 3, "finetune": 6, "features": 3}
    assert found["times_from"] == []
    assert call("plan", *arguments) == 0
    printed = capsys.readouterr().out
    assert "All runs are finished" in printed
    assert "layers" not in printed
    assert files(finished) == before


def test_without_runs_the_machine_is_measured_and_nothing_is_written(planned, tmp_path):
    runs = tmp_path / "runs"
    chosen = ("masking", "--scale", "smoke", "--only", "80/10/10", "--threads", "1", "--precision", "fp32")
    found = planned(*chosen, "--runs", runs)
    assert not runs.exists()
    assert found["times_from"] == ["trials"]
    assert set(found["jobs"]) == {"corpus", "pretrain", "finetune", "features"}
    to_do = found["to_do"]
    assert (to_do["pretrainings"], to_do["measurements"], to_do["corpora"]) == (1, 3, 1)
    assert to_do["seconds"] == pytest.approx(sum(each["seconds"] for each in found["jobs"].values()))


def test_gpus_elsewhere_take_what_their_peak_says(planned, call, capsys, tmp_path):
    chosen = ("size", "nsp", "--scale", "tiny", "--gpus", "2", "--peak-tflops", "312", "--runs", tmp_path / "runs")
    found = planned(*chosen)
    for amount in (found["to_do"], *found["jobs"].values()):
        assert set(amount) == AMOUNT
    assert found["to_do"]["pretrainings"] == 8
    assert call("plan", *chosen, "--device-memory-gb", "0.001") == 0
    printed = capsys.readouterr().out
    jobs = sum(found["to_do"][name] for name in ("pretrainings", "measurements", "corpora"))
    tokens, disk = format_count(found["to_do"]["tokens"]), megabytes(found["to_do"]["disk_bytes"])
    assert re.search(
        rf"In all, {jobs} jobs take about .* on 2 GPUs of 312 TFLOP/s, train on {tokens} tokens and write {disk}\.\n",
        printed,
    )
    for part in ("312 TFLOP/s", "not measured", "The largest model does not fit"):
        assert part in printed
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("machine", "where"),
    [
        (Machine(gpus=2), "this machine"),
        (Machine(gpus=32, cluster="host:6379"), "32 GPUs of the cluster"),
        (Machine(workers=1, cluster="host:6379"), "1 worker of the cluster"),
    ],
)
def test_the_total_says_where_the_jobs_run(capsys, machine, where):
    cost = Cost(counts={"pretrainings": 3}, tokens=5_000_000, flops=1e15, seconds=7200.0, disk_bytes=4_000_000)
    plan._print_total(cost, machine, ["trials"], None)
    said = f"In all, 3 jobs take about 2.0 h on {where}, train on 5.0M tokens and write 4 MB."
    assert capsys.readouterr().out.splitlines()[0] == said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--gpus", "64"), "--gpus is 64"),
        (("--peak-tflops", "-1"), "--peak-tflops"),
    ],
)
def test_bad_input_is_told_in_one_line(call, capsys, tmp_path, arguments, said):
    assert call("plan", "masking", *arguments, "--runs", tmp_path / "runs") == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "name", "says"),
    [
        ("--only", "80/10/10", "--only names no variant of nsp"),
        ("--measure", "MNLI fine-tuned", "--measure names no measurement of nsp"),
    ],
)
def test_a_study_without_what_is_chosen_is_left_out(call, tmp_path, capsys, monkeypatch, option, name, says):
    monkeypatch.setattr(errors, "_warned", set())  # another test of this process may have been warned
    command = ("plan", "masking", "nsp", "--scale", "smoke", option, name, "--json", "--runs", tmp_path / "runs")
    assert call(*command) == 0
    printed = capsys.readouterr()
    assert says in printed.err
    assert '"nsp' not in printed.out


CHOSEN = ("bench", "--scale", "smoke", "--threads", "1", "--precision", "fp32")


def test_what_is_measured_goes_together_and_people_read_it_too(call, capsys, monkeypatch):
    assert call(*CHOSEN, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scale"] == "smoke"
    assert found["sequences_per_step"] == 8  # the batch of the scale
    assert 0 < found["tokens_per_second"] * found["seconds_per_step"] <= 8 * 32
    assert found["share_of_peak"] == pytest.approx(found["flops_per_second"] / found["peak_flops_per_second"])
    assert found["peak_memory_bytes"] > 50e6
    assert found["numerics"]["precision"] == "fp32"
    measured = microbenchmark.Throughput(
        **{each.name: found[each.name] for each in dataclasses.fields(microbenchmark.Throughput)}
    )
    monkeypatch.setattr(microbenchmark, "throughput", lambda *given: measured)
    assert call(*CHOSEN) == 0
    printed = capsys.readouterr().out
    for part in ("tokens/s", "of matrix products in fp32", "GFLOP/s", "peak memory"):
        assert part in printed


def test_a_full_temporary_folder_is_named(call, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        code = call(*CHOSEN)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    (line,) = capsys.readouterr().err.splitlines()
    assert code == 2
    assert f"the temporary folder '{tmp_path}' cannot be written" in line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [("--scale", "huge"), ("--gpus", "2"), ("--set", "schedule.steps=0")])
def test_bad_input_gives_one_line(call, capsys, arguments):
    assert call("bench", *arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1
