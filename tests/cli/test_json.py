"""`--json` prints one document on standard output in every command; `--fail-on` ends with 1 and names the claims."""

import json
import shutil

import pytest
from typer.main import get_command

from bertlab.cli.main import app
from bertlab.store.runs import Store


def test_every_command_has_json():
    commands = get_command(app).commands
    assert commands.pop("predict")  # which prints nothing but JSON
    for name, command in commands.items():
        assert "--json" in [option for each in command.params for option in each.opts], name


@pytest.fixture
def document(call, capsys):
    """The only thing that a command with `--json` prints on standard output."""

    def run(*arguments, status=0):
        capsys.readouterr()
        assert call(*arguments, "--json") == status
        return json.loads(capsys.readouterr().out)

    return run


def test_an_ablation_prints_its_results_alone(document, smoke, finished):
    found = document(*smoke, "--runs", finished)
    assert found["complete"] is True
    assert found["unfinished"] == []
    points = [each for each in found["results"] if each["metric"] in ("accuracy", "f1")]
    results = {(each["variant"], each["measurement"]): each for each in points}
    assert len(results) == len(points) == 3 * 3
    values = [run.result().metrics["accuracy"] for run in Store(finished).runs() if "mnli" in run.label]
    assert {results[variant, "MNLI fine-tuned"]["mean"] for variant, _ in results} == {*values}
    assert {type(line[name]) for line in found["results"] for name in ("seeds", "paired_seeds")} <= {int, type(None)}
    assert {each["verdict"] for each in found["findings"]} <= {"undecided", "not measured"}


def test_a_plan_is_the_same_document_before_an_ablation(document, smoke, finished, tmp_path):
    planned = document(*smoke, "--dry-run", "--runs", tmp_path / "runs")
    assert planned["to_do"]["jobs" if "jobs" in planned["to_do"] else "measurements"] == 9
    assert {type(planned["to_do"][name]) for name in ("tokens", "disk_bytes", "pretrainings")} == {int}
    assert document(*smoke, "--dry-run", "--runs", finished)["to_do"]["measurements"] == 0


def test_a_failed_job_is_in_the_document(document, smoke, finished, tmp_path, monkeypatch):
    from bertlab.lab import jobs

    runs = tmp_path / "runs"
    shutil.copytree(finished, runs)
    store = Store(runs)
    lost = next(run for run in store.runs() if run.kind == "features")
    store.remove([lost])

    def broken(self, *arguments):
        raise RuntimeError("a broken part")

    monkeypatch.setattr(jobs.Evaluation, "run", broken)
    found = document(*smoke, "--runs", runs, status=1)
    assert found["complete"] is False
    assert found["unfinished"] == [
        {"id": lost.id, "kind": "features", "label": lost.label, "reason": "failed: a broken part"}
    ]


def test_what_is_written_and_removed_is_a_document(document, finished, tmp_path):
    written = document("export", "--results", "masking", tmp_path / "out", "--runs", finished)
    assert written["directory"] == str(tmp_path / "out")
    assert {*written["files"]} == {
        path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()
    }
    merged = document("merge", tmp_path / "out", "--into", tmp_path / "runs")
    assert (merged["new"], merged["known"]) == (12, 0)
    assert merged["studies"] == [{"study": "masking", "scale": "smoke", "values": 9, "seeds": [0]}]
    listed = document("runs", "--remove", "masking-0-0-100-seed0", "--runs", tmp_path / "runs")
    assert len(listed) == 11
    reported = document("report", "--runs", tmp_path / "runs", "--out", tmp_path / "reports")
    assert {each["variant"] for each in reported["results"]} == {"80/10/10", "0/0/100", "no pre-training"}
    assert (tmp_path / "reports" / "index.html").exists()


def test_a_verdict_can_end_a_report_with_1(call, document, finished, tmp_path, capsys):
    command = ("report", "masking", "--runs", finished, "--out", tmp_path)
    undecided = [each["claim"] for each in document(*command)["findings"] if each["verdict"] == "undecided"]
    assert call(*command, "--fail-on", "contradicted") == 0
    capsys.readouterr()
    assert call(*command, "--fail-on", "contradicted", "--fail-on", "undecided") == 1
    named = capsys.readouterr().err.splitlines()
    assert len(named) == len(undecided) > 0
    assert all(claim in line for claim, line in zip(undecided, named, strict=True))
    assert named[0].startswith("undecided: Random tokens alone are much worse than 80/10/10 on MNLI (masking,")
    assert call(*command, "--fail-on", "contradiction") == 2
    assert "did you mean 'contradicted'?" in capsys.readouterr().err
