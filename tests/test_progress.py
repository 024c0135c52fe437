"""Signals and flags: the first asks, the second ends."""

import os
import signal
import subprocess
import sys

import pytest

from bertlab import progress
from bertlab.progress import Interrupted, asked_to_stop, listening_to, signals_as_flags, stop_if_asked

TWICE = """
import os, signal, time
from bertlab.progress import asked_to_stop, signals_as_flags
with signals_as_flags():
    os.kill(os.getpid(), {number})
    print(asked_to_stop(), flush=True)
    os.kill(os.getpid(), {number})
    print("still here", flush=True)
"""


@pytest.mark.parametrize("number", progress.SIGNALS)
def test_a_signal_is_a_flag_and_no_more(number):
    with signals_as_flags():
        stop_if_asked()
        os.kill(os.getpid(), number)
        assert asked_to_stop()
        with pytest.raises(Interrupted) as error:
            stop_if_asked()
    assert error.value.number == number
    assert not asked_to_stop()


@pytest.mark.parametrize("number", progress.SIGNALS)
def test_a_second_signal_ends_at_once(number):
    command = [sys.executable, "-c", TWICE.format(number=int(number))]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == -number
    assert ended.stdout == "True\n"


def test_a_worker_hears_of_a_signal_through_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LOOKS", 0.0)
    flag = tmp_path / "stop"
    with listening_to(flag):
        stop_if_asked()
        flag.touch()
        with pytest.raises(Interrupted) as error:
            stop_if_asked()
        assert error.value.number == signal.SIGTERM
    with listening_to(tmp_path / "another"):
        stop_if_asked()


PARENT = """
import multiprocessing, signal, sys, time
from bertlab.progress import end_with_parent
def work(path):
    end_with_parent()
    with open(path, "w") as stream:  # a pipe, which the end of this process closes
        print("works", file=stream, flush=True)
        time.sleep(5)
        print("still works", file=stream, flush=True)
multiprocessing.get_context("fork").Process(target=work, args=(sys.argv[1],)).start()
signal.pause()
"""


def test_a_child_ends_with_a_parent_that_is_killed(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", PARENT, str(pipe)]) as parent, pipe.open() as stream:
        assert stream.readline() == "works\n"
        parent.kill()
        assert stream.read() == ""  # waits for the end of the child
