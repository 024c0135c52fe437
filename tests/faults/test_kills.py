"""Killed at any time, alone or beside others, or on a disk that fills: one line, nothing is lost, and the same
command ends as if nothing had happened, byte for byte."""

import os
import signal

import numpy as np
import pytest

from bertlab import keyed

TIMES = 20
WORK = "runs/KIND/.#.work"
ALONE = (
    f"write {WORK}/heldout/tokens.bin:1", "step pre-training:4", f"rename {WORK}/checkpoint/.part:3",
    f"rmdir {WORK}/checkpoint/step-#:2", f"rename {WORK}:3", f"rename {WORK}/.result.json.#.part:2",
    "step fine-tuning long:2",
)  # fmt: skip


def times(count):
    """Shares of the undisturbed time, spread over all of it."""
    return ((np.arange(count) + keyed.uniform(keyed.key("faults", "times"), np.arange(count))) / count).tolist()


@pytest.mark.parametrize(
    "share",
    [
        pytest.param(each, marks=[] if number in (7, 13) else pytest.mark.faults)
        for number, each in enumerate(times(TIMES))
    ],
)
def test_killed_at_a_random_time(warm, undisturbed, same_end, tmp_path, share):
    runs = tmp_path / "runs"
    killed = warm.ablate(runs, kill=share * undisturbed.seconds)
    assert killed.status in (-signal.SIGKILL, 1)  # on a machine at work, it may have come to its end
    same_end(runs)


@pytest.mark.faults
def test_killed_at_every_place_in_one_store(warm, undisturbed, same_end, tmp_path):
    """Each run dies at the first place where none died before."""
    runs = tmp_path / "runs"
    left, number = dict.fromkeys(undisturbed.places), 0
    assert len(left) > 60
    for run in (warm.ablate, warm.report):
        while True:
            number += 1
            record = tmp_path.with_name(f"{tmp_path.name}-{number}")
            ended = run(runs, faults=",".join([f"record:{record}", *(f"{name}:1:kill" for name in left)]))
            if ended.status != -signal.SIGKILL:
                break
            del left[record.read_text().splitlines()[-1]]
    assert not left
    same_end(runs)


@pytest.mark.parametrize(
    "fault", [pytest.param(each, marks=[] if each in ALONE[-3:] else pytest.mark.faults) for each in ALONE]
)
def test_killed_at_one_place(warm, same_end, tmp_path, fault):
    runs = tmp_path / "runs"
    assert warm.ablate(runs, faults=f"{fault}:kill").status == -signal.SIGKILL
    same_end(runs)


@pytest.mark.faults
@pytest.mark.parametrize(
    "fault",
    [
        "step tokenising:1", "step pre-training:3", f"write {WORK}/milestones/step-#.safetensors:2",
        "step fine-tuning long:2", "step reading features:1",
    ],
)  # fmt: skip
def test_interrupted(warm, same_end, tmp_path, fault):
    runs = tmp_path / "runs"
    stopped = warm.ablate(runs, faults=f"{fault}:stop")
    assert stopped.status == 128 + signal.SIGINT, stopped.printed
    assert "give the same command again" in stopped.printed
    same_end(runs)


CHECKPOINT = "runs/KIND/.#.work/checkpoint/.part"


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.faults)])
@pytest.mark.parametrize(
    "fault", [f"rename {CHECKPOINT}:2", pytest.param("step fine-tuning long:2", marks=pytest.mark.faults)]
)
def test_each_run_is_trained_once(warm, undisturbed, same_end, tmp_path, count, fault):
    runs, record = tmp_path / "runs", tmp_path.with_name(f"{tmp_path.name}-places")
    ended = warm.at_once(
        warm.command(runs, faults=f"record:{record},{fault}:kill"),
        *[warm.command(runs, faults=f"record:{record}")] * (count - 1),
    )
    assert ended[0].status in (-signal.SIGKILL, 1)  # another may have been faster
    assert [each.status for each in ended[1:]] == [1] * (count - 1), ended[1].printed
    passed = record.read_text().splitlines()
    for name in ("rename runs/KIND/.#.work", "write runs/KIND/.#.work/model.safetensors"):
        assert passed.count(name) == undisturbed.places.count(name) > 0, name
    same_end(runs)


def one_line(ended):
    """Asserts that a command ended with the line that says what to do about the disk."""
    assert ended.status == 2, ended.printed
    errors = [line for line in ended.printed.splitlines() if line.startswith("bertlab: ")]
    assert len(errors) == 1, ended.printed
    assert "cannot be written" in errors[0]
    assert "--runs" in errors[0]
    assert "Traceback" not in ended.printed


@pytest.mark.parametrize(
    "limit",
    [
        pytest.param(each, marks=[] if each == 100_000 else pytest.mark.faults)
        for each in (300, 3_000, 20_000, 100_000, 300_000)
    ],
)
def test_no_file_may_be_larger(warm, same_end, tmp_path, limit):
    """Bytes a file, as a quota has it: files of all sizes meet it."""
    runs = tmp_path / "runs"
    one_line(warm.ablate(runs, limit=limit))
    same_end(runs)


@pytest.mark.faults
def test_full_at_every_write_in_one_store(warm, undisturbed, same_end, tmp_path):
    """Each time at the first file that was not refused before."""
    runs = tmp_path / "runs"
    left = [each for each in dict.fromkeys(undisturbed.places) if each.startswith(("write runs/", "mkdir runs/"))]
    left = [each for each in left if ".locks" not in each]
    while left:
        record = tmp_path.with_name(f"{tmp_path.name}-{len(left)}")
        ended = warm.ablate(runs, faults=",".join([f"record:{record}", *(f"{name}:1:full" for name in left)]))
        if ended.status == 1:
            break
        one_line(ended)
        left.remove(next(name for name in record.read_text().splitlines() if name in left))
    assert not left
    same_end(runs)


@pytest.mark.faults
@pytest.mark.parametrize("folder", [".", "pretrain"])
def test_a_small_disk(warm, same_end, tmp_path, folder):
    """Of 1 MB, then a larger one: for the whole store it is seen before anything is spent, for a part of it not."""
    runs = tmp_path / "runs"
    disk = runs / folder
    disk.mkdir(parents=True)
    if os.system(f"mount -t tmpfs -o size=1m bertlab '{disk}' 2>/dev/null"):
        pytest.skip("no disk can be mounted here")
    try:
        ended = warm.ablate(runs)
        if folder == ".":
            assert (ended.status, "free space" in ended.printed) == (2, True), ended.printed
            assert not list(runs.iterdir())
        else:
            one_line(ended)
        assert os.system(f"mount -o remount,size=64m '{disk}'") == 0
        same_end(runs)
    finally:
        os.system(f"umount '{disk}'")


@pytest.mark.faults
@pytest.mark.parametrize("limit", [100, 10_000])
def test_a_report_that_finds_no_room(warm, undisturbed, tmp_path, limit):
    arguments = ("report", "--out", str(tmp_path / "reports"))
    (ended,) = warm.at_once(warm.command(undisturbed.runs, arguments, limit=limit))
    one_line(ended)
    assert str(tmp_path / "reports") in ended.printed


@pytest.mark.faults
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_may_not_be_written(warm, same_end, tmp_path):
    runs = tmp_path / "runs"
    runs.mkdir()
    runs.chmod(0o500)
    one_line(warm.ablate(runs))
    runs.chmod(0o700)
    same_end(runs)
