"""Tests that need a process of their own: closed outputs, environments, signals, and internal errors."""

import os
import signal
import subprocess
import sys
import time

import pytest

from bertlab.cli import main

BERTLAB = [sys.executable, "-m", "bertlab"]


def run(place, command, **changes):
    known = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", os.getcwd()), "HOME": str(place)}
    environment = {name: text for name, text in {**known, **changes}.items() if text is not None}
    return subprocess.run(
        ["bash", "-c", command.replace("bertlab", " ".join(BERTLAB))],
        cwd=place, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("where", ["> /dev/full", "| true"])
def test_output_that_goes_away(tmp_path, where):
    done = run(tmp_path, f"set -o pipefail; bertlab studies --json {where}")
    assert done.returncode in (0, 1, 141) if "true" in where else done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_variables(refused, monkeypatch):
    monkeypatch.setenv("BERTLAB_CACHE", "~nosuchuser/x")
    refused("pretrain", "--scale", "smoke", "--dry-run", says="BERTLAB_CACHE")


def test_no_temporary_folder(refused, monkeypatch):
    import tempfile

    def none(**options):
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", none)
    refused("plan", "masking", "--scale", "smoke", says="No usable temporary directory")


def test_a_user_without_a_name(tmp_path):
    nobody = run(tmp_path, "bertlab pretrain --scale smoke --dry-run", USER=None)
    assert nobody.returncode == 0, nobody.stderr


@pytest.mark.parametrize("delay", [0.0, 0.3])
def test_an_early_ctrl_c_is_no_success(tmp_path, delay):
    study = tmp_path / "own.py"
    study.write_text("import time; time.sleep(20)")
    begun = subprocess.Popen(
        [*BERTLAB, "ablate", str(study)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # A shell that starts the tests in the background has them ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    time.sleep(delay)
    begun.send_signal(signal.SIGINT)
    begun.communicate(timeout=60)
    assert begun.returncode in (130, 1, -signal.SIGINT)  # the latter two before Python itself has started


def test_the_last_resort_shows_its_traceback(call, place, capsys, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("odd")

    monkeypatch.setattr("bertlab.lab.studies.names", broken)
    assert call("studies") == main.INTERNAL_ERROR
    errors = capsys.readouterr().err
    assert "ZeroDivisionError: odd" in errors
    assert errors.splitlines()[-1].startswith("bertlab: internal error")


@pytest.mark.parametrize(("error", "code"), [(MemoryError(), 1), (OSError(28, "No space left on device", "x"), 2)])
def test_errors_of_the_system_are_no_faults(call, place, capsys, monkeypatch, error, code):
    def broken(*arguments, **options):
        raise error

    monkeypatch.setattr("bertlab.lab.studies.names", broken)
    assert call("studies") == code
    assert capsys.readouterr().err.count("\n") == 1
