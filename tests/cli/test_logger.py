"""`--logger`: the same runs byte for byte, and the files of loggers are outside of them."""

import pytest


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
    names = {path.parent.relative_to(logged / "logs").as_posix() for path in logged.rglob("events.out.tfevents.*")}
    trained = {
        path.relative_to(logged).as_posix()
        for kind in ("pretrain", "finetune", "features")
        for path in (logged / kind).glob("[!.]*")
    }
    assert names == trained


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
