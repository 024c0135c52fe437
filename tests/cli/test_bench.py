"""`bertlab bench` prints its figures; their size is not tested."""

import dataclasses
import json
import resource
import tempfile

import pytest

from bertlab.estimates import microbenchmark

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
