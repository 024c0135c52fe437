"""Several processes that pre-train together: the same batches, losses and weights as one, and the same end for all."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab.inputs.batches import Batches
from bertlab.inputs.streams import joined
from bertlab.progress import silent
from bertlab.recipe import Inputs
from bertlab.training import checkpoints
from bertlab.training.pretraining import pretrain
from bertlab.training.process_group import SINGLE, ProcessGroup

SCRIPT = Path(__file__).with_name("group_process.py")
"""Run by each process of a group; imported here for its recipes."""
FORMATS = ("segment-pair", "sentence-pair", "full-sentences", "doc-sentences")


@pytest.fixture(scope="module")
def trainings():
    import importlib.util

    found = importlib.util.spec_from_file_location("group_process", SCRIPT)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@given(st.integers(0, 300), st.integers(1, 9), st.integers(1, 9))
def test_micro_batches_are_the_batch_in_order(sequences, world_size, count):
    """Contiguous, as even as can be, equally many a process, and numbered over all processes."""
    shares = [ProcessGroup(rank, world_size).micro_batches(sequences, count) for rank in range(world_size)]
    assert {len(share) for share in shares} == {count}
    pieces = [piece for share in shares for piece in share]
    assert [number for number, _, _ in pieces] == list(range(len(pieces)))
    assert [each for _, begin, end in pieces for each in range(begin, end)] == list(range(sequences))
    sizes = [end - begin for _, begin, end in pieces]
    assert max(sizes) - min(sizes) <= 1


def test_one_process_has_it_all_and_sums_nothing():
    assert SINGLE.first
    assert SINGLE.micro_batches(5) == [(0, 0, 5)]
    assert SINGLE.micro_batches(5, 3) == [(0, 0, 1), (1, 1, 3), (2, 3, 5)]
    assert SINGLE.total(0.1, 2) == [0.1, 2]


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("form", FORMATS)
def test_what_processes_see_together_is_the_global_batch(corpus, trainings, form, ranks):
    schedule = dataclasses.replace(trainings.SMOKE.schedule, batch_size=7)
    inputs, objective = Inputs(length=32, format=form), trainings.ALONE
    recipe = dataclasses.replace(trainings.SMOKE, inputs=inputs, objective=objective, schedule=schedule)
    for step in (0, 3, 40):
        whole = Batches(recipe, corpus).batch(step)
        parts = []
        for rank in range(ranks):
            own = Batches(recipe, corpus).batch(step)  # each process makes its own
            parts += [
                own.rows(slice(*bounds)) for _, *bounds in ProcessGroup(rank, ranks).micro_batches(len(own.tokens), 2)
            ]
        np.testing.assert_equal(vars(joined(parts)), vars(whole))


@pytest.fixture(scope="module")
def group(corpus_directory, tmp_path_factory):
    """The place of what two processes have trained, see the script."""
    place = tmp_path_factory.mktemp("group")
    logs = [(place / f"log-{rank}").open("w+") for rank in range(2)]
    command = [sys.executable, str(SCRIPT)]
    processes = [
        subprocess.Popen([*command, str(rank), "2", str(place), str(corpus_directory)], stdout=log, stderr=log)
        for rank, log in enumerate(logs)
    ]
    try:
        for process, log in zip(processes, logs, strict=True):
            process.wait(timeout=900)
            log.seek(0)
            assert process.returncode == 0, log.read()[-3000:]
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for log in logs:
            log.close()
    return place


def ended(place, name):
    """How a training ended on each process."""
    return [json.loads((place / f"{name}-{rank}.json").read_text()) for rank in range(2)]


def lines(work):
    return [json.loads(line) for line in (work / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture
def double():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize("name", ["pairs", "sentences", "left-to-right", "replaced"])
def test_losses_of_two_processes_are_those_of_one(group, corpus, trainings, tmp_path, double, name):
    """In float64, without dropout, over 20 steps: with seven rows, three, and one, of which a process has none."""
    recipe, micro_batch = trainings.EXACT[name]
    result = pretrain(recipe, corpus, tmp_path, trainings.machine(micro_batch), (50, 100), silent)
    wanted, found = lines(tmp_path), lines(group / name)
    assert len(found) == len(wanted) == 22
    for one, two in zip(wanted, found, strict=True):
        assert two == pytest.approx(one, rel=1e-9)
    for each in ended(group, name):
        assert each["heldout"] == pytest.approx(result["heldout"], rel=1e-9)


def test_a_group_that_was_stopped_goes_on_to_the_bit(group):
    """One process alone was asked to stop: both did, after the same step, with dropout on."""
    assert [each["status"] for each in ended(group, "stopped")] == ["interrupted", "interrupted"]
    whole, resumed = ended(group, "whole"), ended(group, "resumed")
    assert whole[0] == whole[1] == resumed[0] == resumed[1]
    for name in ("metrics.jsonl", "model.safetensors"):
        assert (group / "whole" / name).read_bytes() == (group / "resumed" / name).read_bytes()


def test_a_loss_that_is_not_finite_on_one_process_stops_both_before_the_update(group):
    one, two = ended(group, "poisoned")
    assert one == two == {"status": "diverged", "reason": "diverged at step 5: the loss is not finite"}
    assert len(lines(group / "poisoned")) == 5
    assert checkpoints.newest(group / "poisoned") is None


def test_processes_whose_clocks_differ_save_together(group):
    """By the clock of the first, 7 s after it last saved, and where one was asked to stop; figures wait to be read."""
    assert [each["status"] for each in ended(group, "clocks")] == ["interrupted", "interrupted"]
    saves = [json.loads((group / f"saves-{rank}.json").read_text()) for rank in range(2)]
    assert saves[0] == saves[1] == [[8, 16, 24, 32, 38], 0]  # and no step asks the others anything else
    assert checkpoints.newest(group / "clocks").step == 38
