"""Pre-trainings that begin alike, from the command line: the plan, the runs, the page."""

import json

import pytest

ASKED = ("lr-schedule", "--scale", "smoke", "--measure", "LM perplexity")
NUMBERS = ("--threads", "1", "--precision", "fp32")
TWO = ("--only", "linear", "--only", "stable, then 1-sqrt")
HORIZONS = [part for name in ("", ", 3x steps", ", 5x steps") for part in ("--only", f"all text{name}")]
STABLE = ("--set", "schedule.curve=warmup-stable-decay", "--set", "schedule.warmup_steps=800")


@pytest.fixture(scope="module")
def shared(call, tmp_path_factory):
    """A store with two rates that share their warm-up, a tenth of the steps at this scale, at one seed."""
    store = tmp_path_factory.mktemp("shared") / "runs"
    assert call("ablate", *ASKED, *TWO, *NUMBERS, "--runs", store) == 0
    return store


def planned(call, capsys, store, *options):
    capsys.readouterr()
    assert call("plan", *options, "--runs", store, "--peak-tflops", 1, "--json") == 0
    return json.loads(capsys.readouterr().out)


def run_of(store, variant):
    (run,) = (store / "pretrain").glob(f"*--lr-schedule-{variant}-seed0")
    return run


def test_runs_have_the_bits_that_they_have_alone(call, shared, tmp_path):
    assert call("ablate", *ASKED, "--only", "linear", *NUMBERS, "--runs", tmp_path / "runs") == 0
    alone, together = run_of(tmp_path / "runs", "linear"), run_of(shared, "linear")
    assert alone.name == together.name
    for name in ("result.json", "metrics.jsonl", "model.safetensors", "milestones/step-00000010.safetensors"):
        assert (alone / name).read_bytes() == (together / name).read_bytes()
    assert not (alone / "trunks.json").exists()


def test_a_record_says_from_which_run_and_step_it_went_on_and_no_state_is_left(shared):
    (trunk,) = json.loads((run_of(shared, "linear") / "trunks.json").read_text())["trunks"]
    assert (trunk["first"], trunk["steps"]) == (0, 2)
    assert trunk["seconds"] >= trunk["training"] > 0
    assert trunk["numerics"]["device"] == "cpu"
    assert [*(shared / "trunk").iterdir()] == []


def test_the_page_says_what_was_shared(call, shared, tmp_path):
    assert call("report", "--runs", shared, "--out", tmp_path) == 0
    page = (tmp_path / "lr-schedule.md").read_text()
    told = "the first 2 of linear and stable, then 1-sqrt, trained once a seed: 38 steps in place of 40"
    assert told in page
    assert "1 shared beginning" in page


def test_what_is_finished_trains_no_trunk(call, shared, capsys):
    plan = planned(call, capsys, shared, *ASKED, *TWO)
    assert (plan["to_do"]["trunks"], plan["to_do"]["pretrainings"]) == (0, 0)


@pytest.mark.parametrize(("cooldown", "share"), [(0.1, 5.4), (0.2, 5.8)])
def test_three_horizons_take_less_than_two_thirds(call, capsys, tmp_path, cooldown, share):
    """The command of docs/how-to/study.md: 1x, 3x and 5x are a trunk and three decays."""
    decay = ("--set", f"schedule.curve.cooldown={cooldown}")
    plan = planned(call, capsys, tmp_path, "data-and-steps", *HORIZONS, *STABLE, *decay, "--compile", "no")
    assert (plan["steps_alone"], plan["steps_trained"]) == (9 * 1600, share * 1600)
    assert plan["to_do"]["trunks"] == 2
    assert plan["jobs"]["pretrain"]["tokens"] + plan["jobs"]["trunk"]["tokens"] == share * 1600 * 32 * 32


def test_a_plan_says_how_many_steps_are_shared(call, capsys, tmp_path):
    assert call("plan", *ASKED, "--runs", tmp_path, "--peak-tflops", 1) == 0
    assert "Pre-trainings that begin alike share these steps: 100 steps in place of 140" in capsys.readouterr().out
