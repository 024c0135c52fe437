"""Signals and flags: the first asks, the second ends."""

import os
import signal
import subprocess
import sys
import time

import pytest

from bertlab import progress
from bertlab.progress import (
    Interrupted,
    asked_to_stop,
    listening_to,
    signals_as_errors,
    signals_as_flags,
    stop_if_asked,
)

TWICE = """
import os, signal, time
from bertlab import progress
from bertlab.progress import Interrupted, asked_to_stop, signals_as_errors, signals_as_flags
progress.SECONDS_OF_COPIES = {seconds}
with {handled}():
    try:
        os.kill(os.getpid(), {number})
    except Interrupted:
        pass
    print(asked_to_stop(), flush=True)
    os.kill(os.getpid(), {number})
    print("still here", flush=True)
"""


@pytest.mark.parametrize("number", progress.SIGNALS)
def test_a_signal_is_a_flag_and_no_more(number):
    def work():
        with signals_as_flags():
            stop_if_asked()
            os.kill(os.getpid(), number)
            assert asked_to_stop()
            with pytest.raises(Interrupted) as error:
                stop_if_asked()
            assert error.value.number == number

    with pytest.raises(Interrupted) as error:  # at the end too: a signal after the last look is not lost
        work()
    assert error.value.number == number
    assert not asked_to_stop()


@pytest.mark.parametrize("number", progress.SIGNALS)
def test_a_signal_is_an_error_where_it_comes(number):
    def work():
        with signals_as_errors():
            os.kill(os.getpid(), number)
            pytest.fail("it goes on")

    with pytest.raises(Interrupted) as error:
        work()
    assert error.value.number == number
    stop_if_asked()


class Falls:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)


def test_a_signal_that_the_interpreter_loses_comes_again(capsys):
    """As in the callbacks of weak references, which run during imports: errors there go nowhere."""
    before = sys.unraisablehook

    def work():
        with signals_as_errors():
            falls = Falls()
            del falls
            time.sleep(600)
            pytest.fail("it is lost")

    with pytest.raises(Interrupted):
        work()
    assert capsys.readouterr().err == ""
    assert sys.unraisablehook is before


@pytest.mark.parametrize("swallowed", [True, False])
def test_code_that_swallows_a_signal_or_fails_by_it_is_interrupted_all_the_same(swallowed):
    def work():
        with signals_as_errors():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            except Interrupted:
                if not swallowed:
                    raise ValueError("a broken pool") from None

    with pytest.raises(Interrupted):
        work()


def twice(number, handled, seconds):
    command = [sys.executable, "-c", TWICE.format(number=int(number), handled=handled.__name__, seconds=seconds)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("handled", [signals_as_errors, signals_as_flags])
@pytest.mark.parametrize("number", progress.SIGNALS)
def test_a_second_signal_ends_at_once(number, handled):
    ended = twice(number, handled, -1)
    assert ended.returncode == -number
    assert ended.stdout == "True\n"


@pytest.mark.parametrize("handled", [signals_as_errors, signals_as_flags])
def test_a_copy_of_a_signal_is_no_second_one(handled):
    """`timeout` sends one to the command, and one to the process group that the command is in."""
    ended = twice(signal.SIGTERM, handled, 1e9)
    assert ended.stdout == "True\nstill here\n"
    assert "Interrupted" in ended.stderr


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
import multiprocessing, os, signal, sys, time
from bertlab.progress import follow_parent
def work(number):
    follow_parent()
    os.write(number, b"works")
    time.sleep(600)
    os.write(number, b"still works")
multiprocessing.get_context("fork").Process(target=work, args=(int(sys.argv[1]),)).start()
signal.pause()
"""


def test_a_child_ends_with_a_parent_that_is_killed():
    here, there = os.pipe()  # whose other end closes with both processes
    with (
        subprocess.Popen([sys.executable, "-c", PARENT, str(there)], pass_fds=[there]) as parent,
        open(here, "rb") as pipe,
    ):
        os.close(there)
        assert pipe.read(5) == b"works"
        parent.kill()
        assert pipe.read() == b""  # waits for the end of the child


STARTS = """
import multiprocessing, os, signal
from bertlab.progress import SIGNALS, follow_parent, starting_children

def work():
    for number in SIGNALS:
        os.kill(os.getpid(), number)  # as a terminal does while the child starts
    follow_parent()
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()), "a program that it starts would hear nothing"
    print("works", flush=True)

if __name__ == "__main__":
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with starting_children():
        child = multiprocessing.get_context("spawn").Process(target=work)
        child.start()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    child.join()
    raise SystemExit(child.exitcode)
"""


def test_a_child_hears_no_signal_while_it_starts(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(STARTS)
    ended = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "works\n", "")
