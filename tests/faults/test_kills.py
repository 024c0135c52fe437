"""Killed at any time, as often as one likes: the same command ends as if nothing had happened, byte for byte."""

import re
import signal
from pathlib import Path

import numpy as np
import pytest

from bertlab import keyed
from bertlab.store import faults

TIMES = 20
ALONE = ("corpus.ids:2", "step:4", "checkpoint.rename:3", "checkpoint.older:2", "finish.rename:3", "write.rename:9")


def test_every_point_is_passed_and_registered(undisturbed):
    """In the code each name stands once."""
    root = Path(faults.__file__).parents[1]
    code = [
        name for path in sorted(root.rglob("*.py")) for name in re.findall(r'\bpoint\("([\w.]+)"\)', path.read_text())
    ]
    assert sorted(code) == sorted(faults.POINTS)
    assert set(undisturbed.points) == set(faults.POINTS)
    assert len(faults.POINTS) >= 32


@pytest.mark.parametrize("text", ["stpe:1:kill", "step:1:explode", "step", "step:x:kill"])
def test_a_fault_that_cannot_be_is_refused(text):
    with pytest.raises(ValueError, match=r"BERTLAB_FAULT|invalid literal"):
        faults.Faults(text)


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
def test_killed_at_every_point_in_one_store(warm, same_end, tmp_path):
    """All points are armed that have not killed yet: each run dies at the first of them that it passes."""
    runs, record = tmp_path / "runs", tmp_path / "points"
    for run in (warm.ablate, warm.report):
        while True:
            armed = [name for name in faults.POINTS if not killed_at(record, name)]
            ended = run(runs, faults=",".join([f"record:{record}", *(f"{name}:1:kill" for name in armed)]))
            if ended.status != -signal.SIGKILL:
                break
            with record.open("a") as file:
                file.write(f"killed at {record.read_text().split()[-1]}\n")
    assert [name for name in faults.POINTS if not killed_at(record, name)] == []
    same_end(runs)


def killed_at(record, name):
    return record.exists() and f"killed at {name}\n" in record.read_text()


@pytest.mark.parametrize(
    "fault", [pytest.param(each, marks=[] if each in ALONE[-2:] else pytest.mark.faults) for each in ALONE]
)
def test_killed_at_one_point(warm, same_end, tmp_path, fault):
    runs = tmp_path / "runs"
    assert warm.ablate(runs, faults=f"{fault}:kill").status == -signal.SIGKILL
    same_end(runs)


@pytest.mark.faults
@pytest.mark.parametrize("fault", ["corpus.ids:1", "step:3", "evaluation.begin:2", "measure.step:2", "features.read:1"])
def test_interrupted(warm, same_end, tmp_path, fault):
    runs = tmp_path / "runs"
    stopped = warm.ablate(runs, faults=f"{fault}:stop")
    assert stopped.status == 128 + signal.SIGINT, stopped.printed
    assert "give the same command again" in stopped.printed
    same_end(runs)
