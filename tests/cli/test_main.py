"""The exit status of a command that a signal or an error ends."""

import signal
import sys
from types import SimpleNamespace

import pytest

from bertlab.cli import console
from bertlab.cli import main as entry
from bertlab.errors import BadInput
from bertlab.lab import study_file
from bertlab.progress import Interrupted


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize(
    ("error", "status", "closed_status"),
    [
        (Interrupted(signal.SIGINT), 130, 130),
        (Interrupted(signal.SIGTERM), 143, 143),
        (Interrupted(signal.SIGUSR1), 143, 143),
        (BadInput("this is wrong"), 2, 1),
        (None, 0, 1),
    ],
)
def test_a_signal_decides_the_status_also_where_the_output_is_closed(
    monkeypatch, tmp_path, capsys, error, status, closed_status, closed
):
    def app(**named):
        if error:
            raise error

    def flush():
        if closed:
            raise BrokenPipeError

    monkeypatch.setattr(entry, "app", app)
    monkeypatch.setattr(entry.environment, "set_up", lambda: None)
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(flush=flush, fileno=out.fileno))
        with pytest.raises(SystemExit) as ended:
            entry.main()
    assert ended.value.code == (closed_status if closed else status)
    assert bool(capsys.readouterr().err) is (error is not None and not closed)


@pytest.mark.parametrize("place", ["", "mine.py, line 3"])
def test_a_study_file_that_ends_the_process_is_a_mistake_in_it(monkeypatch, capsys, place):
    def app(**named):
        raise SystemExit(3)

    monkeypatch.setattr(entry, "app", app)
    monkeypatch.setattr(study_file, "place_of", lambda error: place)
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == (2 if place else 3)
    assert capsys.readouterr().err == (f"bertlab: SystemExit: 3 ({place}); correct it\n" if place else "")


@pytest.mark.parametrize("json", [False, True])
def test_an_output_that_a_study_file_has_closed_costs_one_line(monkeypatch, tmp_path, capsys, json):
    out = (tmp_path / "out").open("w")

    def app(**named):
        out.close()
        with console.json_alone(json):
            console.print_json({}) if json else console.say("done")

    monkeypatch.setattr(entry, "app", app)
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "bertlab: standard output is closed\n"
