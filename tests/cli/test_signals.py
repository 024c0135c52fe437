"""SIGINT and SIGTERM end every command, at whatever moment, with their status, without a traceback, and leave nothing.

No test waits for a moment: the signal comes at an import or a call that the test names.
"""

import _signal
import os
import signal
import subprocess
import sys
import tempfile

import pytest

BOTH = {signal.SIGINT: 130, signal.SIGTERM: 143}

HOOK = """
import os, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["SIGNAL_AT"]:
            os.kill(os.getpid(), int(os.environ["SIGNAL"]))

sys.meta_path.insert(0, Finder())
"""
"""Python runs it as it starts."""

STUDY = """
import os, signal
try:
    os.kill(os.getpid(), int(os.environ["SIGNAL"]))
except:
    pass
"""
"""A study file that swallows the signal."""


def tree(folder):
    return {path.relative_to(folder): path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def ended(place, number, at, *arguments):
    """How a command ends, as a process, with a signal at the first import of a module."""
    for name in ("hook", "work", "tmp"):
        (place / name).mkdir()
    (place / "hook" / "sitecustomize.py").write_text(HOOK)
    (place / "work" / "own.py").write_text(STUDY)
    paths = os.pathsep.join([str(place / "hook"), *filter(None, (os.environ.get("PYTHONPATH"), os.getcwd()))])
    named = {"PATH": os.environ["PATH"], "HOME": str(place), "TMPDIR": str(place / "tmp"), "BERTLAB_WORKERS": "0"}
    before = tree(place / "work")
    done = subprocess.run(
        [sys.executable, "-m", "bertlab", *arguments],
        cwd=place / "work",
        env={**named, "PYTHONPATH": paths, "SIGNAL_AT": at, "SIGNAL": str(int(number))},
        # A shell that starts the tests in the background has them ignore the signal.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
        capture_output=True,
        text=True,
        check=False,
    )
    assert tree(place / "work") == before
    assert list((place / "tmp").iterdir()) == []
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    return done


@pytest.mark.parametrize("number", BOTH)
@pytest.mark.parametrize("at", ["typer", "bertlab.cli.merge", "bertlab.progress"])
def test_while_the_command_line_is_imported_a_signal_ends_the_process_at_once(tmp_path, number, at):
    done = ended(tmp_path, number, at, "studies")
    assert (done.returncode, done.stdout, done.stderr) == (-number, "", "")


@pytest.mark.parametrize("number", BOTH)
@pytest.mark.parametrize(
    ("at", "arguments"),
    [
        ("torch", ("ablate", "masking", "--scale", "smoke")),
        ("torch", ("pretrain", "--scale", "smoke")),
        ("torch", ("plan", "masking", "--scale", "smoke")),
        ("torch", ("bench", "--scale", "smoke")),
        ("torch", ("audit", "masking", "--scale", "smoke")),
        ("bertlab.report.page", ("report",)),
        ("bertlab.store.runs", ("runs",)),
        ("bertlab.store.merge", ("merge", "one", "other")),
        ("bertlab.report.export", ("export", "masking", "new", "--results")),
        ("bertlab.tasks.mirror", ("fetch", "masking", "data")),
        ("bertlab.execution.on_slurm", ("submit", "ablate", "masking")),
        ("bertlab.lab.studies", ("show", "masking")),
    ],
)
def test_a_signal_ends_each_command_with_its_status(tmp_path, number, at, arguments):
    done = ended(tmp_path, number, at, *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (BOTH[number], 1), done.stderr
    assert f"interrupted by {number.name}" in done.stderr


@pytest.mark.parametrize(
    ("at", "arguments", "again"),
    [
        ("bertlab.lab.finetuned", ("predict", "run", "rows.csv"), "the same command begins again"),
        ("torch", ("pretrain", "--scale", "smoke"), "finished work is kept: give the same command again to resume"),
    ],
)
def test_a_signal_says_what_the_same_command_does(tmp_path, at, arguments, again):
    done = ended(tmp_path, signal.SIGINT, at, *arguments)
    assert done.stderr == f"bertlab: interrupted by SIGINT; {again}\n"


@pytest.mark.parametrize("number", BOTH)
def test_a_study_file_that_swallows_the_signal_is_no_bad_input(tmp_path, number):
    done = ended(tmp_path, number, "", "ablate", "own.py")
    assert done.returncode == BOTH[number]
    assert f"interrupted by {number.name}" in done.stderr


class Calls:
    """Counts the calls of Python functions within a command, and sends a signal at one of them."""

    def __init__(self, at=-1):
        self.at, self.number = at, 0

    def __call__(self, frame, event, argument):
        if event == "call" and callable(_signal.getsignal(signal.SIGTERM)):
            self.number += 1
            if self.number == self.at:
                signal.raise_signal(signal.SIGTERM)

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)


@pytest.mark.parametrize(
    ("arguments", "points"),
    [
        (("merge", "runs", "--into", "new"), 6),
        (("export", "masking", "new", "--results", "--runs", "runs"), 3),
    ],
)
def test_at_whatever_call_the_signal_comes_the_same_command_then_ends_as_usual(
    call, finished, tmp_path, monkeypatch, arguments, points
):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "runs").symlink_to(finished)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path)
    assert call(*arguments) == 0  # imports what is imported once
    (tmp_path / "new").rename(tmp_path / "whole")
    with Calls() as calls:
        assert call(*arguments) == 0
    (tmp_path / "new").rename(tmp_path / "again")
    store = tree(finished)
    for point in range(points):
        with Calls(1 + calls.number * point // points):
            assert call(*arguments) == 143
        assert [path.name for path in tmp_path.rglob(".*") if path.name.endswith((".part", ".merged"))] == []
        assert list((tmp_path / "tmp").iterdir()) == []
        assert tree(finished) == store
        if arguments[0] == "merge":
            assert call(*arguments) == 0
            assert tree(tmp_path / "new").keys() == tree(tmp_path / "whole").keys()
            (tmp_path / "new").rename(tmp_path / f"new-{point}")
        else:
            assert not (tmp_path / "new").exists()
