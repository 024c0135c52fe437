"""Hostile command lines, run in this process: one line with the error, an exit status, nothing left behind."""

import os
import re
import tempfile
from pathlib import Path

import pytest

from bertlab import errors


def snapshot(folder):
    """Every path below a folder, with its content."""
    found = {}
    for path, folders, files in os.walk(folder):
        for name in (*folders, *files):
            whole = os.path.join(path, name)
            plain = name in files and os.path.isfile(whole) and not os.path.islink(whole)
            readable = plain and os.access(whole, os.R_OK)
            found[whole] = Path(whole).read_bytes() if readable else None
    return found


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def place(tmp_path, monkeypatch, cache):
    """The current directory of a command, with the folder for its temporary files."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("BERTLAB_CACHE", str(cache))
    for name in ("BERTLAB_RUNS", "BERTLAB_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(errors, "_warned", set())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(call, capsys, place):
    """Asserts that a command ends with one line that matches `says`, exit `code`, and the folder as it was."""

    def check(*arguments, says, code=2):
        before = snapshot(place)
        capsys.readouterr()
        found = call(*arguments)
        captured = capsys.readouterr()
        lines = captured.err.strip().splitlines()
        assert found == code, captured
        assert len(lines) == 1, captured.err
        assert lines[0].startswith("bertlab: ")
        assert "Traceback" not in captured.err
        assert len(lines[0]) < 1500
        assert re.search(says, lines[0]), f"{lines[0]} does not say {says}"
        assert snapshot(place) == before

    return check
