"""How many runs go side by side by default, and that their number changes no result."""

import os
import shutil

import pytest
import torch
import typer
from typer.testing import CliRunner

from bertlab import cgroups
from bertlab.adaptation import Features
from bertlab.cli.options import ClusterOptions, command
from bertlab.execution.processes import Processes
from bertlab.store.runs import Store

GIB = 2**30


@pytest.fixture
def cores(monkeypatch):
    """Sets the cores and the memory of this machine, and what a container grants of them."""

    def there(number, memory=1024 * GIB, granted=(None, None)):
        monkeypatch.setattr(os, "cpu_count", lambda: number)
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(number)))
        monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": memory // 4096}.get)
        monkeypatch.setattr(cgroups, "cores", lambda: granted[0])
        monkeypatch.setattr(cgroups, "memory", lambda: granted[1])

    return there


@pytest.fixture
def chosen():
    """The machine of a command with these options; `given` is the environment variable."""

    def machine(*arguments, given=None):
        found = []

        def show(devices: ClusterOptions):
            found.append(devices.machine())

        app = typer.Typer()
        app.command()(command(show))
        done = CliRunner().invoke(app, arguments, env={"BERTLAB_WORKERS": given}, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return found[0]

    return machine


@pytest.mark.parametrize(
    ("number", "memory", "options", "workers", "threads"),
    [
        (1, 1024 * GIB, (), 0, 1),
        (2, 1024 * GIB, (), 2, 1),
        (16, 1024 * GIB, (), 16, 1),
        (16, 8 * GIB, (), 4, 1),
        (2, 4 * GIB - 200 * 2**20, (), 2, 1),  # what a system with 4 GiB reports
        (16, 2 * GIB, (), 0, 1),
        (16, GIB // 2, (), 0, 1),
        (16, 1024 * GIB, ("--threads", "4"), 4, 4),
        (16, 1024 * GIB, ("--threads", "6"), 2, 6),
        (16, 1024 * GIB, ("--threads", "9"), 0, 9),
        (2, 1024 * GIB, ("--threads", "2"), 0, 2),
        (16, 4 * GIB, ("--threads", "4"), 2, 4),
        (16, 1024 * GIB, ("--workers", "0"), 0, 16),
        (16, 1024 * GIB, ("--workers", "0", "--threads", "3"), 0, 3),
        (16, GIB, ("--workers", "3", "--threads", "2"), 3, 2),
        (1, 1024 * GIB, ("--workers", "2"), 2, 1),
    ],
)
def test_as_many_runs_as_cores_and_memory_allow(cores, chosen, number, memory, options, workers, threads):
    cores(number, memory)
    machine = chosen(*options)
    assert machine.workers == workers
    assert (machine.per_worker() if workers else machine).num_threads == threads


def test_the_default_is_what_can_be_given(cores, chosen):
    cores(2)
    assert chosen() == chosen("--workers", "2")
    cores(1)
    assert chosen() == chosen("--workers", "0", "--threads", "1")


@pytest.mark.parametrize(
    ("granted", "workers"), [((3, None), 3), ((None, 8 * GIB), 4), ((6, 4 * GIB), 2), ((1, None), 0)]
)
def test_no_more_workers_than_a_container_has_cores_and_memory_for(cores, chosen, granted, workers):
    cores(16, 512 * GIB, granted)
    assert chosen().workers == workers


def test_gpus_and_clusters_have_no_workers_unless_they_are_given(cores, chosen):
    cores(16)
    assert chosen("--gpus", "1").workers == 0
    assert chosen("--gpus", "8", "--cluster", "auto").workers == 0
    assert chosen("--workers", "3", "--cluster", "auto").workers == 3


def test_the_variable_is_a_default(cores, chosen):
    cores(16)
    assert chosen(given="0") == chosen("--workers", "0")
    assert chosen(given="") == chosen()
    assert chosen(given="3").workers == 3
    assert chosen("--workers", "5", given="3").workers == 5
    assert chosen("--gpus", "2", given="3").workers == 0


@pytest.mark.parametrize("name", ["ablate", "plan"])
def test_help_shows_the_default(call, capsys, name):
    assert call(name, "--help") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "[env var: BERTLAB_WORKERS; default: one per core" in printed
    assert "default: those of the scale, without --seeds]" in printed


def contents(runs):
    """The files of a store, apart from times and machines."""
    kept = {}
    for run in Store(runs).runs():
        run.verify()
        for path in sorted(run.path.rglob("*")):
            if path.is_file() and path.name not in ("timing.jsonl", "manifest.json", "environment.json"):
                kept[run.path.name, path.relative_to(run.path).as_posix()] = path.read_bytes()
    return kept


@pytest.fixture
def ablated(call, smoke, cores, monkeypatch):
    """Runs the study of `finished` in a store with the default of two cores; how often a worker started."""

    def run(runs):
        cores(2)
        monkeypatch.delenv("BERTLAB_WORKERS")
        hire, hired = Processes.hire, []
        monkeypatch.setattr(Processes, "hire", lambda engine: hired.append(engine) or hire(engine))
        threads = smoke.index("--threads")
        assert call(*smoke[:threads], *smoke[threads + 2 :], "--runs", runs) == 0
        made = [run for run in Store(runs).runs() if run.kind != "corpus"]
        assert {run.environment().numerics["threads"] for run in made} == {1}
        return len(hired)

    return run


def test_two_cores_have_two_workers_with_the_bytes_of_one_process(ablated, finished, tmp_path):
    assert ablated(tmp_path / "runs") == 2
    assert contents(tmp_path / "runs") == contents(finished)


def test_a_single_job_needs_no_worker_and_has_one_thread(ablated, finished, tmp_path, monkeypatch):
    runs = shutil.copytree(finished, tmp_path / "runs")
    store = Store(runs)
    (lost,) = (run for run in store.runs() if run.kind == "features" and "80-10-10" in run.label)
    store.remove([lost])
    threads, inputs = [], Features.inputs

    def watched(*arguments):
        threads.append(torch.get_num_threads())
        return inputs(*arguments)

    monkeypatch.setattr(Features, "inputs", watched)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert ablated(runs) == 0
    finally:
        torch.set_num_threads(before)
    assert set(threads) == {1}
    assert contents(runs) == contents(finished)
