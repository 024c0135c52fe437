"""Killed at any time, as often as one likes: the same command ends as if nothing had happened, byte for byte."""

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
