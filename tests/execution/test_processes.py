"""Workers that die before they have a job; `test_on_ray.py` has those that die at work."""

import os
import signal

import pytest

from bertlab.errors import BadInput
from bertlab.execution import processes
from bertlab.execution.processes import Processes
from bertlab.machine import Machine
from bertlab.store.runs import Store


@pytest.fixture
def engine(tmp_path):
    store = Store(tmp_path / "runs")
    store.prepare()
    engine = Processes(store, Machine(workers=1, cache=tmp_path), tmp_path / "stop", None)
    yield engine
    engine.end()


def killed(engine):
    (process,) = engine.workers.values()
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    return process


def test_a_worker_that_dies_while_it_waits_is_replaced(engine, until):
    engine.hire()
    until(lambda: engine.ended() == [] and engine.free() == 1)
    dead = killed(engine)
    until(lambda: engine.ended() == [] and engine.free() == 1 and dead not in engine.workers.values())


def test_workers_that_always_die_as_they_start_end_the_command(engine, monkeypatch):
    monkeypatch.setattr(processes, "TRIES", 2)
    engine.hire()
    killed(engine)
    assert engine.ended() == []
    killed(engine)
    with pytest.raises(BadInput, match=r"workers cannot be started: its process was killed \(exit status -9\)"):
        engine.ended()
