"""Workers that die before they have a job; `test_on_ray.py` has those that die at work."""

import os
import signal
import sys
from contextlib import suppress
from multiprocessing import Pipe, get_context
from multiprocessing.spawn import get_preparation_data
from types import SimpleNamespace

import pytest

from bertlab.errors import BadInput
from bertlab.execution import processes
from bertlab.execution.processes import Processes
from bertlab.machine import Machine
from bertlab.store.runs import Store


@pytest.fixture
def engine(tmp_path):
    store = Store(tmp_path / "runs")
    store.create_directories()
    engine = Processes(store, Machine(workers=1, cache=tmp_path), tmp_path / "stop", None)
    yield engine
    engine.end()


def killed(engine):
    (process,) = engine.workers.values()
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    return process


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_worker_that_dies_while_it_waits_is_replaced(engine, until, monkeypatch):
    import bertlab.training.pretraining  # noqa: F401 - so that workers find it imported

    fork = get_context("fork")
    monkeypatch.setattr(processes, "get_context", lambda method: fork)
    monkeypatch.setattr(processes, "TRIES", 2)
    engine.hire()
    until(lambda: engine.ended() == [] and engine.free() == 1)
    dead = []
    for _ in range(2):  # which started, and so does not count as one that cannot
        dead.append(killed(engine))
        until(lambda: engine.ended() == [] and engine.free() == 1 and not {*dead} & {*engine.workers.values()})


def test_workers_that_always_die_as_they_start_end_the_command(engine, monkeypatch):
    monkeypatch.setattr(processes, "TRIES", 2)
    engine.hire()
    killed(engine)
    assert engine.ended() == []
    killed(engine)
    with pytest.raises(BadInput, match=r"workers cannot be started: its process was killed \(exit status -9\)"):
        engine.ended()


def test_no_more_workers_start_than_there_are_jobs_and_nothing_is_left_of_their_flag(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(Processes, "hire", lambda self: done.append("hired"))
    monkeypatch.setattr(Processes, "stop", lambda self: done.append("stopped"))
    store = Store(tmp_path / "runs")
    store.create_directories()
    jobs = [SimpleNamespace(code=None)] * 2
    for error in (None, BadInput("no room")):
        with suppress(BadInput), processes.processes(store, Machine(workers=4), jobs) as engine:
            engine.flag.touch()
            if error:
                raise error
        assert not engine.flag.exists()
    assert done == ["hired"] * 4 + ["stopped"]


def test_a_worker_does_not_run_the_main_module_of_a_script_again(tmp_path, monkeypatch):
    """A script without `if __name__ == "__main__"` may call `ablate`."""
    prepared = []
    process = SimpleNamespace(start=lambda: prepared.append(get_preparation_data("worker")))
    context = SimpleNamespace(Pipe=Pipe, Process=lambda **given: process)
    monkeypatch.setattr(processes, "get_context", lambda method: context)
    main = sys.modules["__main__"]
    Processes(Store(tmp_path), Machine(workers=1), tmp_path / "stop", None).hire()
    assert not [name for name in prepared[0] if name.startswith("init_main")]
    assert sys.modules["__main__"] is main


@pytest.mark.parametrize(
    ("before", "seen"), [(None, ["0", "1", "0", "1"]), ("5,GPU-7,2", ["5", "GPU-7", "5", "GPU-7"])]
)
def test_workers_take_the_gpus_in_turn(tmp_path, monkeypatch, before, seen):
    started = []
    process = SimpleNamespace(start=lambda: started.append(os.environ["CUDA_VISIBLE_DEVICES"]), join=lambda: None)
    compiling = os.environ.get("TORCHINDUCTOR_COMPILE_THREADS")
    context = SimpleNamespace(Pipe=Pipe, Process=lambda **given: process)
    monkeypatch.setattr(processes, "get_context", lambda method: context)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if before:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", before)
    engine = Processes(Store(tmp_path), Machine(gpus=2, runs_per_gpu=2), tmp_path / "stop", None)
    for _ in seen:
        engine.hire()
    assert started == seen
    process.exitcode = -9
    engine.replace([*engine.workers][1])  # in whose place another one starts
    assert started[-1] == seen[1]
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == before
    assert os.environ.get("TORCHINDUCTOR_COMPILE_THREADS") == compiling


def test_jobs_go_to_the_gpu_with_the_fewest_of_them(tmp_path):
    engine = Processes(Store(tmp_path), Machine(gpus=2, runs_per_gpu=2), tmp_path / "stop", None)
    workers = [Pipe()[0] for _ in range(4)]
    engine.places = {worker: place for place, worker in enumerate(workers)}
    engine.idle = [workers[each] for each in (0, 2, 1, 3)]
    for _ in workers:
        engine.begin(None, None)
    assert [engine.places[each] % 2 for each in engine.running] == [0, 1, 0, 1]
