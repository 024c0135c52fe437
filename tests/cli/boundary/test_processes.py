"""Tests that need a process of their own: closed outputs, environments, signals, and internal errors."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bertlab.cli import main

BERTLAB = [sys.executable, "-m", "bertlab"]


def run(place, command, **changes):
    known = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", os.getcwd()), "HOME": str(place)}
    environment = {name: text for name, text in {**known, **changes}.items() if text is not None}
    return subprocess.run(
        ["bash", "-c", command.replace("bertlab", " ".join(BERTLAB))],
        cwd=place, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("command", ["studies --json", "ablate --help", "--version"])
@pytest.mark.parametrize("where", ["> /dev/full", ">&-", "| true", ">&- 2>&-", "> /dev/full 2> /dev/full"])
def test_output_that_goes_away(tmp_path, where, command):
    done = run(tmp_path, f"set -o pipefail; bertlab {command} {where}")
    assert done.returncode in (0, 1, 141) if "true" in where else done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"BERTLAB_COLLECTIVE_SECONDS": "abc"}, "BERTLAB_COLLECTIVE_SECONDS is 'abc'"),
        ({"BERTLAB_COLLECTIVE_SECONDS": "0"}, "BERTLAB_COLLECTIVE_SECONDS"),
        ({"BERTLAB_COLLECTIVE_SECONDS": "-1"}, "BERTLAB_COLLECTIVE_SECONDS"),
        ({"BERTLAB_CACHE": "~nosuchuser/x"}, "BERTLAB_CACHE"),
    ],
)
def test_variables(refused, monkeypatch, changes, says):
    for name, text in changes.items():
        monkeypatch.setenv(name, text)
    refused("pretrain", "--scale", "smoke", "--dry-run", says=says)


def test_no_temporary_folder(refused, monkeypatch):
    import tempfile

    def none():
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    refused("pretrain", "--scale", "smoke", says="temporary folder")


def test_too_little_memory(refused, monkeypatch):
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda kind: (700 * 2**20, -1))
    refused("pretrain", "--scale", "smoke", says="ulimit -v")


def test_odd_places(tmp_path):
    gone = run(tmp_path, "mkdir gone; cd gone; rmdir ../gone; bertlab studies")
    assert (gone.returncode, gone.stderr.count("\n")) == (2, 1)
    assert "current directory no longer exists" in gone.stderr
    nobody = run(tmp_path, "bertlab pretrain --scale smoke --dry-run", HOME=None, USER=None, MPLBACKEND="garbage")
    assert nobody.returncode == 0, nobody.stderr


@pytest.mark.parametrize("error", [ZeroDivisionError("odd"), KeyError("x"), RecursionError("deep"), AssertionError()])
def test_the_last_resort_is_one_line(call, place, capsys, monkeypatch, error):
    """And a file that holds the traceback."""

    def broken(*arguments, **options):
        raise error

    monkeypatch.setattr("bertlab.lab.studies.names", broken)
    assert call("studies") == main.INTERNAL_ERROR
    line = capsys.readouterr().err.strip()
    assert line.count("\n") == 0
    found = re.match(r"bertlab: internal error: (\w+).*; please report it with the traceback in (\S+)", line)
    assert found
    assert type(error).__name__ == found[1]
    assert "Traceback" in Path(found[2]).read_text(encoding="utf-8")
    assert call("--debug", "studies") == main.INTERNAL_ERROR
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(("error", "code"), [(MemoryError(), 1), (OSError(28, "No space left on device", "x"), 2)])
def test_errors_of_the_system_are_no_faults(call, place, capsys, monkeypatch, error, code):
    def broken(*arguments, **options):
        raise error

    monkeypatch.setattr("bertlab.lab.studies.names", broken)
    assert call("studies") == code
    assert capsys.readouterr().err.count("\n") == 1
