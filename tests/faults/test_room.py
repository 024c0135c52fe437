"""A disk that fills, a limit on files, a directory that may not be written: one line, and nothing is lost."""

import os

import pytest


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
