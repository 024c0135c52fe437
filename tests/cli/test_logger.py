"""`--logger`: the same runs byte for byte, and the files of loggers are outside of them."""

import shutil

import pytest

from bertlab import results
from bertlab.trackers import TRACKERS


@pytest.fixture(scope="module")
def logged(call, smoke, tmp_path_factory):
    """One variant of the finished study, logged to TensorBoard."""
    runs = tmp_path_factory.mktemp("logged") / "runs"
    command = [part for part in smoke if part not in ("0/0/100", "--random-init")]
    command.pop(len(command) - 1 - command[::-1].index("--only"))
    assert call(*command, "--logger", "tensorboard", "--runs", runs) == 0
    return runs


def test_the_runs_are_the_same(finished, logged):
    files = [
        path.relative_to(logged)
        for path in logged.glob("*/*--*/**/*")
        if path.is_file() and "logs" not in path.parts and path.name not in ("timing.jsonl", "manifest.json")
    ]
    assert {path.parts[0] for path in files} == {"corpus", "pretrain", "finetune", "features"}
    for path in files:
        assert (logged / path).read_bytes() == (finished / path).read_bytes(), path


def test_each_training_is_logged_beside_the_runs(logged):
    folders = {path.parent for path in (logged / "logs" / "masking").rglob("events.out.tfevents.*")}
    names = {path.relative_to(logged / "logs" / "masking").as_posix() for path in folders}
    trained = {
        path.relative_to(logged).as_posix()
        for kind in ("pretrain", "finetune", "features")
        for path in (logged / kind).glob("[!.]*")
    }
    assert {name for name in names if not name.startswith("results/")} == trained


def test_the_results_of_the_study_are_a_page_of_its_group(call, smoke, finished, tmp_path, monkeypatch):
    """The means and verdicts of the report, also where the finished command is repeated."""
    opened = []

    class StandIn:
        packages = ("torch",)

        def __init__(self, page):
            self.page, self.finished, self.closed = page, [], []
            opened.append(self)

        def finish(self, figures, step, tables=None):
            self.finished.append((figures, step, tables))

        def close(self, *, failed):
            self.closed.append(failed)

    monkeypatch.setitem(TRACKERS, "tensorboard", StandIn)
    runs = shutil.copytree(finished, tmp_path / "runs")
    assert call(*smoke, "--logger", "tensorboard", "--runs", runs) == 0
    (page,) = opened  # nothing was trained
    assert (page.page.group, page.page.kind, page.closed) == ("masking", "results", [False])
    ((figures, step, tables),) = page.finished
    means = results(runs).groupby(["variant", "measurement"])["value"].mean()
    shown = {name: value for name, value in figures.items() if name.startswith("mean/")}
    expected = {f"mean/{measurement}: {variant}": mean for (variant, measurement), mean in means.items()}
    assert shown == pytest.approx(expected)
    assert step == len(results(runs))
    assert sum(figures.values()) - sum(shown.values()) == len(tables["claims"]) > 0
    assert set(tables["values"]["variant"]) == {"80/10/10", "0/0/100", "no pre-training"}
    plain = (int, float, str, type(None))
    assert all(isinstance(value, plain) for table in tables.values() for value in table.values.flat)
    assert not any(value != value for table in tables.values() for value in table.values.flat), "missing is None"


def test_a_report_reads_no_logs(call, logged, tmp_path):
    assert call("report", "--runs", logged, "--out", tmp_path / "one") == 0
    for path in (logged / "logs").rglob("*"):
        if path.is_file():
            path.write_bytes(b"\0")
    assert call("report", "--runs", logged, "--out", tmp_path / "two") == 0
    for path in filter(lambda path: path.is_file(), (tmp_path / "one").rglob("*")):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


@pytest.mark.parametrize(
    "command", [("ablate", "masking"), ("pretrain",), ("finetune", "--task", "mnli", "--from", "x")]
)
def test_bad_loggers_are_one_line(call, capsys, tmp_path, command):
    assert call(*command, "--logger", "papyrus", "--runs", tmp_path / "runs") == 2
    assert "unknown logger 'papyrus'" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
