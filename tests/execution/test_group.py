"""A pre-training on two workers of Ray Train, some of which are killed, hang, or are told to stop."""

import os
import shutil
import signal
import sys
import time
from contextlib import contextmanager

import pytest

from bertlab import progress as signals
from bertlab import scales
from bertlab.errors import BadInput, RunFailed
from bertlab.execution import group
from bertlab.jobs import Pretrain, PrepareCorpus
from bertlab.model.heads import PretrainingModel
from bertlab.progress import Interrupted
from bertlab.recipe import Corpus
from bertlab.store import Store, read_lines
from bertlab.text.tokens import open_corpus
from bertlab.training import checkpoints
from bertlab.training.pretraining import pretrain

RECIPE = scales.find("smoke").recipe  # 20 steps


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray = pytest.importorskip("ray")
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
    """A store with the corpus of `job`."""
    store = Store(tmp_path / "runs")
    store.prepare()
    corpus = JOB.corpus
    shutil.copytree(corpus_directory, store.work("corpus", corpus.id), dirs_exist_ok=True)
    store.finish("corpus", corpus.id, corpus.label)
    return store


JOB = Pretrain(RECIPE, PrepareCorpus(Corpus(sources=()), RECIPE.tokenizer, ()), "group", milestones=2)


class Trial:
    """Watches a group from within: its workers leave their process ids in `place`, and at steps things happen."""

    def __init__(self, place, happens):
        self.place, self.happens = place, happens

    @contextmanager
    def listening(self):
        (self.place / f"pid-{os.environ['RANK']}").write_text(str(os.getpid()))
        yield

    def __call__(self, done, total, stage="", /, **figures):
        with (self.place / "steps").open("a") as file:
            file.write(f"{done}\n")
        if done in self.happens and not (self.place / f"happened-{done}").exists():
            (self.place / f"happened-{done}").touch()
            self.happens[done](int((self.place / "pid-1").read_text()))

    def steps(self):
        return [int(line) for line in (self.place / "steps").read_text().split()]


def train(store, tmp_path, machine, happens, seconds=group.COLLECTIVE_SECONDS):
    trial = Trial(tmp_path, happens)
    work = store.work("pretrain", JOB.id)
    try:
        return group.train(
            JOB, store, work, machine, 2, trial, listening=trial.listening, collective_seconds=seconds
        ), trial
    finally:
        assert not list(tmp_path.glob("ray*"))


def ask(pid):
    """What a signal does to a worker."""
    from bertlab import progress

    progress._received.append(signal.SIGINT)


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def hang(pid):
    os.kill(pid, signal.SIGSTOP)


@pytest.fixture(scope="module")
def alone(corpus_directory, machine, tmp_path_factory):
    """The result and the losses of one process."""
    work = tmp_path_factory.mktemp("alone")
    result = pretrain(RECIPE, open_corpus(corpus_directory), work, machine, 2, signals.silent)
    return result, read_lines(work / "metrics.jsonl")


def test_stopped_then_killed_a_group_goes_on_from_its_checkpoint(store, tmp_path, machine, alone):
    with pytest.raises(Interrupted):
        train(store, tmp_path, machine, {4: ask})
    work = store.work("pretrain", JOB.id)
    assert checkpoints.newest(work).step == 4
    result, trial = train(store, tmp_path, machine, {9: kill})
    steps = trial.steps()
    assert steps[4:] in ([*range(5, last + 1), *range(5, 21)] for last in (9, 10))
    assert result["status"] == "done"
    assert result["steps"] == 20
    assert [line["step"] for line in read_lines(work / "metrics.jsonl")] == [line["step"] for line in alone[1]]
    assert result["heldout"] == pytest.approx(alone[0]["heldout"], rel=0.05)  # dropout is drawn otherwise
    assert not (work / "checkpoint").exists()


def test_a_worker_that_hangs_ends_the_group_and_it_goes_on(store, tmp_path, machine):
    times = {}

    began = time.monotonic()
    result, trial = train(store, tmp_path, machine, {3: hang}, seconds=5)
    assert result["status"] == "done"
    assert trial.steps()[-1] == 20
    assert time.monotonic() - began < 60
