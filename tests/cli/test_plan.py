"""`bertlab plan`: what it tells, that it changes nothing, what it refuses."""

import json

import pytest

AMOUNT = {
    *("pretrainings", "measurements", "others", "tokens", "flops", "seconds", "disk_bytes"),
    *("energy_joules", "money"),
}


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
    more = found["one_more_seed"]
    assert (more["pretrainings"], more["measurements"]) == (3, 9)
    assert more["seconds"] > 0
    assert found["times_from"] == ["finished runs"]
    assert (found["models"], found["peak_flops_per_second"]) == ([], None)
    assert call("plan", *arguments) == 0
    told = capsys.readouterr().out
    assert "Everything is finished" in told
    assert "layers" not in told
    assert files(finished) == before


def test_without_runs_the_machine_is_measured_and_nothing_is_written(planned, tmp_path):
    runs = tmp_path / "runs"
    chosen = ("masking", "--scale", "smoke", "--only", "80/10/10", "--threads", "1", "--precision", "fp32")
    found = planned(*chosen, "--price", "36", "--watts", "100", "--runs", runs)
    assert not runs.exists()
    assert found["times_from"] == ["measurement"]
    assert found["measuring_seconds"] > 0
    assert found["peak_flops_per_second"]["fp32"] > 0
    assert set(found["jobs"]) == {"corpus", "pretrain", "finetune", "features"}
    to_do = found["to_do"]
    assert (to_do["pretrainings"], to_do["measurements"], to_do["others"]) == (1, 3, 1)
    assert to_do["seconds"] == pytest.approx(sum(each["seconds"] for each in found["jobs"].values()))
    assert to_do["money"] == pytest.approx(to_do["seconds"] / 100)
    assert to_do["energy_joules"] == pytest.approx(to_do["seconds"] * 100)


def test_named_cards_take_what_is_published(planned, tmp_path):
    found = planned("size", "nsp", "--on", "2xA100", "--price", "1.5", "--runs", tmp_path / "runs")
    assert found["times_from"] == ["published figures"]
    assert (found["device"], found["devices"], found["watts"]) == ("A100", 2, 400)
    for told in (found["to_do"], found["one_more_seed"], *found["jobs"].values(), *found["by_study"].values()):
        assert set(told) == AMOUNT
        assert told["energy_joules"] == pytest.approx(told["seconds"] * 2 * 400)
        assert told["money"] == pytest.approx(told["seconds"] / 3600 * 2 * 1.5)
    assert set(found["by_study"]) == {"size", "nsp"}
    assert found["peak_flops_per_second"] == {"bf16": 312e12}
    saved = found["saved_by_sharing"]
    assert saved["pretrainings"] == 2
    assert saved["energy_joules"] == pytest.approx(saved["seconds"] * 400)
    assert saved["money"] == pytest.approx(saved["seconds"] / 3600 * 1.5)
    assert sum(each["pretrainings"] for each in found["models"]) == found["to_do"]["pretrainings"] == 8
    assert not (tmp_path / "runs").exists()


def test_words_say_the_same(call, capsys, tmp_path):
    assert call("plan", "size", "nsp", "--on", "8xH100", "--price", "2", "--runs", tmp_path / "runs") == 0
    told = capsys.readouterr().out
    for part in ("In all: 8 pre-trainings", "nsp alone:", "One more seed:", "Shared, and so not run:", "not measured"):
        assert part in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--on", "8xFOO"), "graphics card in --on"),
        (("--on", "0xH100"), "at least one"),
        (("--on", "H100", "--gpus", "2"), "--on names the devices"),
        (("--gpus", "64"), "--gpus is 64"),
        (("--price", "-1"), "price"),
    ],
)
def test_bad_input_is_told_in_one_line(call, capsys, tmp_path, arguments, said):
    assert call("plan", "masking", *arguments, "--runs", tmp_path / "runs") == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
