"""A pre-training on two workers of Ray Train, which are killed, hang, or receive a signal."""

import dataclasses
import json
import math
import os
import shutil
import signal
import sys
import time
from contextlib import contextmanager, nullcontext
from copy import copy
from types import SimpleNamespace

import pytest

from bertlab import progress as signals
from bertlab.errors import BadInput, RunFailed
from bertlab.execution import group
from bertlab.lab import scales
from bertlab.lab.jobs import CorpusPreparation, Pretraining
from bertlab.progress import Interrupted, silent
from bertlab.recipe import Corpus
from bertlab.store.files import read_json, read_lines
from bertlab.store.result import FileFacts
from bertlab.store.runs import Store
from bertlab.store.writes import write_json
from bertlab.text.tokens import open_corpus
from bertlab.training import checkpoints
from bertlab.training.pretraining import pretrain

SMOKE = scales.find("smoke").recipe  # 20 steps
RECIPE = dataclasses.replace(SMOKE, model=dataclasses.replace(SMOKE.model, dropout=0.0))
JOB = Pretraining(RECIPE, CorpusPreparation(Corpus(sources=()), RECIPE.tokenizer, ()), "group", milestones=(50, 100))


@pytest.fixture(scope="module")
def cluster():
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=80 << 20,
        _node_ip_address="127.0.0.1",
    )
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    ray.shutdown()


@pytest.fixture
def store(corpus_directory, tmp_path):
    """A store with the corpus of `JOB`."""
    store = Store(tmp_path / "runs")
    store.create_directories()
    corpus = JOB.corpus
    work = store.work("corpus", corpus.id)
    shutil.copytree(corpus_directory, work, dirs_exist_ok=True)
    for name, content in (("recipe", {"science": corpus.definition()}), ("environment", {}), ("result", {})):
        (work / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    store.finish("corpus", corpus.id, corpus.label)
    return store


class Trial:
    """Events within a group: at some steps, once, one happens to the second worker."""

    def __init__(self, place, happens):
        self.place, self.happens = place, happens

    @contextmanager
    def listening(self):
        """In each worker: its process id is left, and a checkpoint after every step."""
        from bertlab.training import callbacks

        callbacks.SECONDS_BETWEEN_CHECKPOINTS, callbacks.SHARE_OF_CHECKPOINTS = 0.0, math.inf
        (self.place / f"pid-{os.environ['RANK']}").write_text(str(os.getpid()))
        yield

    def __call__(self, done, total, stage="", /, **figures):
        """In the first worker, after every step."""
        with (self.place / "steps").open("a") as file:
            file.write(f"{done} {time.time()}\n")
        if done in self.happens and not (self.place / f"happened-{done}").exists():
            (self.place / f"happened-{done}").touch()
            self.happens[done](int((self.place / "pid-1").read_text()))

    def run(self, store, machine):
        work = store.work("pretrain", JOB.id)
        write_json(work, "environment.json", {"numerics": {"device": "that of the command"}})
        return group.train(JOB, store, work, machine, 2, self, self.listening)

    def steps(self):
        """The numbers of the steps that were done, and when."""
        lines = [line.split() for line in (self.place / "steps").read_text().splitlines()]
        return [int(step) for step, _ in lines], [float(clock) for _, clock in lines]


def ask(pid):
    """The effect of SIGINT, on the first worker alone."""
    from bertlab import progress

    progress._received.append(signal.SIGINT)


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def hang(pid):
    os.kill(pid, signal.SIGSTOP)


def poison(pid):
    """From now on the losses of the first worker are not finite."""
    from bertlab.model.heads import PretrainingModel

    losses = PretrainingModel.losses
    PretrainingModel.losses = lambda *arguments: {
        kind: each * float("nan") for kind, each in losses(*arguments).items()
    }


def test_a_worker_that_is_killed_ends_the_group_which_goes_on_from_its_checkpoint(
    cluster, store, tmp_path, machine, corpus_directory, monkeypatch
):
    monkeypatch.setattr(group, "COLLECTIVE_SECONDS", 600)  # on a busy machine one process starts long after the other
    trial = Trial(tmp_path, {9: kill})
    result = trial.run(store, machine)
    # Step 9 was saved, or step 8 if the first worker could not end step 9 without the second.
    assert trial.steps()[0] in ([*range(1, 10), *range(first, 21)] for first in (9, 10))
    work = store.work("pretrain", JOB.id)
    numerics = read_json(work / "environment.json", dict)["numerics"]
    assert (numerics["device"], numerics["processes"]) == ("cpu", 2)

    (tmp_path / "alone").mkdir()
    alone = pretrain(
        RECIPE, open_corpus(corpus_directory, RECIPE.tokenizer), tmp_path / "alone", machine, (50, 100), silent
    )
    assert result.pop("text")["targets"], "a job keeps the facts of its text"
    assert result.pop("heldout") == pytest.approx(alone.pop("heldout"), rel=1e-3)
    assert result == alone
    wanted, found = (read_lines((folder / "metrics.jsonl").read_bytes(), dict) for folder in (tmp_path / "alone", work))
    assert len(wanted) == len(found)
    for one, two in zip(wanted, found, strict=True):
        assert two == pytest.approx(one, rel=1e-3)


@pytest.mark.faults  # Ray takes minutes to give up a process that hangs
def test_a_worker_that_hangs_ends_the_group_and_one_that_is_asked_to_stop_stops_all(
    cluster, store, tmp_path, machine, monkeypatch
):
    monkeypatch.setattr(group, "COLLECTIVE_SECONDS", 10)
    trial = Trial(tmp_path, {3: hang, 8: ask})
    with pytest.raises(Interrupted) as error:
        trial.run(store, machine)
    assert error.value.number in (signal.SIGINT, signal.SIGTERM)
    steps, clock = trial.steps()
    assert steps[-1] == 8
    assert checkpoints.newest(store.work("pretrain", JOB.id)).step == 8
    assert clock[steps.index(5)] - clock[steps.index(3)] < 300  # seconds; a hang lasts for ever


@pytest.mark.faults  # what it raises and its one try are tested below without workers, which start in half a minute
def test_a_group_that_diverged_is_not_started_again(cluster, store, tmp_path, machine):
    trial = Trial(tmp_path, {4: poison})
    with pytest.raises(RunFailed, match="diverged at step 4") as error:
        trial.run(store, machine)
    assert error.value.status == "diverged"
    assert trial.steps()[0] == [1, 2, 3, 4]
    assert checkpoints.newest(store.work("pretrain", JOB.id)).step == 4


@pytest.mark.parametrize(
    ("failures", "raised", "tries"),
    [
        ([[BadInput("no such file")]], BadInput, 1),
        ([[ConnectionError("closed"), RunFailed("stop", status="diverged")]], RunFailed, 1),
        ([[ConnectionError("closed")], [Interrupted(signal.SIGTERM)]], Interrupted, 2),
        ([[ConnectionError("closed")], [OSError("disk full")]], RunFailed, 2),
    ],
)
def test_what_a_group_ends_with(cluster, store, machine, tmp_path, monkeypatch, failures, raised, tries):
    """An error that would occur again is raised at once; any other only the second time, with its reason."""
    starts = []

    def fit(*arguments):
        starts.append(arguments)
        return {}, failures[len(starts) - 1]

    monkeypatch.setattr(group, "_fit", fit)
    monkeypatch.setattr(signals, "_received", [])
    with pytest.raises(raised) as error:
        group.train(JOB, store, tmp_path, machine, 2, silent, nullcontext)
    assert len(starts) == tries
    if tries == 2 and raised is RunFailed:
        assert str(error.value) == "a worker of the group ended or hung 2 times: OSError: disk full"


def test_processes_wait_while_another_saves_a_large_model_or_reads_a_large_text(store, machine, monkeypatch):
    base = dataclasses.replace(JOB, recipe=scales.find("base").recipe)
    assert group.patience(JOB, store, machine) == group.COLLECTIVE_SECONDS
    assert group.patience(base, store, machine) == group.COLLECTIVE_SECONDS + 26, "1.3 GB at 50 MB a second"
    large = {name: FileFacts(bytes=10**10, sha256="") for name in ("train/tokens.bin", "train/sentences.npy")}
    monkeypatch.setattr(Store, "get", lambda self, run_id: SimpleNamespace(manifest=lambda: large))
    assert group.patience(base, store, machine) == group.COLLECTIVE_SECONDS + 400


def test_what_ends_a_group_travels_between_processes():
    # A copy is made by the same `__reduce__` that carries an exception to another process.
    assert copy(Interrupted(15)).number == 15
    assert copy(RunFailed("nan", status="diverged")).status == "diverged"
    assert str(copy(BadInput("no\nfile"))) == "no file"
