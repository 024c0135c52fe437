"""Loggers get the curve once and to its end, from one process, and change no result."""

import dataclasses
import json
import struct
from types import SimpleNamespace

import pandas
import pytest
from lightning.fabric.utilities.rank_zero import rank_zero_only
from lightning.pytorch.loggers import CSVLogger

from bertlab import progress as signals
from bertlab.adaptation import Features, FineTuning
from bertlab.errors import BadInput
from bertlab.lab import scales
from bertlab.lab.jobs import CorpusPreparation, Pretraining
from bertlab.machine import Machine
from bertlab.progress import Interrupted, silent
from bertlab.recipe.identity import to_canonical
from bertlab.store.runs import Store
from bertlab.trackers import TRACKERS
from bertlab.trackers.lightning import Opener
from bertlab.training import loggers as log
from bertlab.training import pretraining
from bertlab.training.finetuning import finetune
from bertlab.training.pretraining import pretrain
from bertlab.training.process_group import ProcessGroup

SMOKE = scales.find("smoke").recipe  # 20 steps, each logged
JOB = Pretraining(SMOKE, CorpusPreparation(SMOKE.corpus, SMOKE.tokenizer, ()), "masking-80/10/10", study="masking")
LOGGING = {"loggers": ("tensorboard",)}


class StandIn:
    """A tracker that keeps what is logged."""

    packages = ("torch",)
    opened = ()

    def __init__(self, page):
        self.page, self.logged, self.ended = page, [], ""
        self.opened.append(self)

    def log(self, figures, step):
        self.logged += [(step, name, value) for name, value in figures.items()]

    def finish(self, figures, step, tables=None):
        self.log(figures, step)

    def close(self, *, failed):
        self.ended = "failed" if failed else "success"


def opened(job, store, machine):
    """The loggers of a run."""
    fields = job.definition() | {
        name: to_canonical(getattr(job, name), whole=True)
        for name in ("recipe", "settings")
        if getattr(job, name, None)
    }
    return log.opened(job.kind, job.id, job.label, job.study, fields, store, machine)


@pytest.fixture
def loggers(monkeypatch):
    """The trackers that are opened, in their order, in place of TensorBoard's."""
    monkeypatch.setitem(TRACKERS, "tensorboard", StandIn)
    monkeypatch.setattr(StandIn, "opened", [])
    return StandIn.opened


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


@pytest.fixture
def trained(corpus, machine, tmp_path, store):
    """Trains the smoke recipe in a working directory with a log."""

    def train(name, progress=silent, **asked):
        (tmp_path / name).mkdir(exist_ok=True)
        with opened(JOB, store, dataclasses.replace(machine, **asked)) as loggers:
            return pretrain(SMOKE, corpus, tmp_path / name, machine, (50, 100), progress, loggers=loggers)

    return train


def lines(work):
    return [json.loads(line) for line in (work / "metrics.jsonl").read_text().splitlines()]


def test_the_curve_is_told_and_changes_no_byte(trained, loggers, tmp_path):
    result = trained("logged", **LOGGING)
    assert trained("unlogged") == result
    for name in ("metrics.jsonl", "model.safetensors"):
        assert (tmp_path / "logged" / name).read_bytes() == (tmp_path / "unlogged" / name).read_bytes()
    (logger,) = loggers
    logged = {(step, name): value for step, name, value in logger.logged}
    for line in lines(tmp_path / "logged"):
        for name, value in line.items():
            if name != "step":
                kind, figure = ("heldout", name.removeprefix("heldout_")) if "heldout" in name else ("train", name)
                assert logged.pop((line["step"], f"{kind}/{figure}")) == value
    for name, value in result["heldout"].items():
        assert logged.pop((20, f"result/{name}")) == value
    assert {name for _, name in logged} == {"throughput/tokens_per_second"}
    assert all(value > 0 for value in logged.values())
    assert logger.page.fields["label"] == "masking-80/10/10-seed0"
    assert logger.page.fields["id"] == JOB.id
    recipe = logger.page.fields["recipe"]
    assert (recipe["optimizer"]["beta1"], recipe["inputs"]["format"]) == (0.9, "segment-pair"), "defaults are left out"
    assert logger.ended == "success"


def test_a_lightning_logger_has_the_curve(trained, store, tmp_path):
    trained("logged", loggers=(Opener(CSVLogger(tmp_path, "csv", "")),))
    curve = pandas.read_csv(tmp_path / "csv" / "metrics.csv", index_col="step")["masking-80-10-10-seed0/train/loss"]
    expected = {line["step"]: line["loss"] for line in lines(tmp_path / "logged") if "loss" in line}
    assert curve.dropna().to_dict() == pytest.approx(expected)


def test_a_resumed_run_goes_on_with_its_curve(trained, loggers, monkeypatch):
    """Stopped after a checkpoint, then killed without one: each step is logged once."""
    monkeypatch.setattr(signals, "_received", [])

    def stop(done, total, stage="", /, **figures):
        if done == 7:
            signals._received.append(2)

    def kill(done, total, stage="", /, **figures):
        if done == 13:
            raise RuntimeError("killed")

    with pytest.raises(Interrupted):
        trained("work", stop, **LOGGING)
    signals._received.clear()
    with pytest.raises(RuntimeError, match="killed"):
        trained("work", kill, **LOGGING)
    trained("work", **LOGGING)
    assert [each.ended for each in loggers] == ["failed", "failed", "success"]
    steps = [step for each in loggers for step, name, _ in each.logged if name == "train/loss"]
    assert steps == list(range(1, 21))
    assert [step for each in loggers for step, name, _ in each.logged if name == "heldout/accuracy"] == [10, 20]
    trained("again", **LOGGING)  # as when it was damaged: all of it is there
    assert loggers[-1].logged == []


@pytest.mark.parametrize("first", [False, True])
def test_measurements_are_logged(pretrained, machine, pairs, store, loggers, first):
    settings = FineTuning(batch_size=16, epochs=1, peak_lr=3e-3, length=32, max_steps=6)
    asked = {
        "seed": 0,
        "finetune_seed": 0,
        "machine": machine,
        "progress": silent,
        "intermediate_task": pairs if first else None,
    }
    job = SimpleNamespace(
        kind="finetune", id="f0", label="a/b", study="a", settings=settings, definition=lambda: {"finetune_seed": 0}
    )
    with opened(job, store, dataclasses.replace(machine, **LOGGING)) as made:
        found = finetune(pretrained, pairs, settings, **asked, loggers=made)
        for each in made:
            each.log_result(found.steps, found.metrics)
    assert found.curve == finetune(pretrained, pairs, settings, **asked).curve
    (logger,) = loggers
    losses = [(step, value) for step, name, value in logger.logged if name == "train/loss"]
    assert losses == [(point["step"], point["loss"]) for point in found.curve]
    rates = [value for _, name, value in logger.logged if name == "train/learning_rate"]
    assert max(rates) == 3e-3
    assert ("intermediate/loss" in {name for _, name, _ in logger.logged}) is first
    assert (6, "result/accuracy", found.metrics["accuracy"]) in logger.logged
    assert logger.page.fields["settings"]["batch_size"] == 16


def test_features_are_logged(pretrained, machine, entities, store, loggers):
    settings = Features(batch_size=16, epochs=1, peak_lr=1e-2, length=32, max_steps=4)
    job = SimpleNamespace(kind="features", id="f1", label="a", study="a", settings=settings, definition=dict)
    with opened(job, store, dataclasses.replace(machine, **LOGGING)) as made:
        found = finetune(
            pretrained, entities, settings, seed=0, finetune_seed=0, machine=machine, progress=silent, loggers=made
        )  # fmt: skip
    assert [value for _, name, value in loggers[0].logged if name == "train/loss"] == [
        point["loss"] for point in found.curve
    ]


def test_off_by_default(trained, loggers, store):
    assert Machine().loggers == ()
    trained("work")
    assert not loggers
    assert not (store.root / "logs").exists()


def test_only_the_first_of_a_group_logs(monkeypatch, machine, store, loggers, tmp_path):
    monkeypatch.setattr("bertlab.text.tokens.open_corpus", lambda *arguments, **options: None)
    monkeypatch.setattr("bertlab.lab.jobs.pretraining._facts_of", lambda recipe, corpus: {})
    monkeypatch.setattr(Store, "get_verified", lambda self, run_id: SimpleNamespace(path=tmp_path))
    found = []
    monkeypatch.setattr(pretraining, "pretrain", lambda *arguments: found.append(arguments[8]) or {})
    for rank in (1, 0):
        JOB.run(tmp_path, store, dataclasses.replace(machine, **LOGGING), silent, ProcessGroup(rank, 2))
    assert found[0] == ()
    assert [each.tracker for each in found[1]] == loggers


def test_a_logger_that_cannot_be_opened_is_bad_input(machine, store, loggers, monkeypatch):
    """The first one is closed again."""

    class Refusing(StandIn):
        def __init__(self, page):
            raise RuntimeError("no account\nmore")

    monkeypatch.setitem(TRACKERS, "wandb", Refusing)
    both = dataclasses.replace(machine, loggers=("tensorboard", "wandb"))
    with (
        pytest.raises(BadInput, match=r"--logger wandb cannot be opened \(no account\)"),
        opened(JOB, store, both),
    ):
        pass
    assert [each.ended for each in loggers] == ["failed"]


def test_what_is_not_known_or_not_installed(monkeypatch):
    with pytest.raises(BadInput, match="unknown logger 'tensorbord': did you mean 'tensorboard'"):
        Machine(loggers=("tensorbord",))
    monkeypatch.setattr("bertlab.trackers.find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"--logger wandb is not installed: .*`pip install -c .* '\.\[wandb\]'`"):
        Machine(loggers=("wandb",))


def test_tensorboard_has_the_curve_and_the_recipe(trained, store, tmp_path, monkeypatch):
    """Read as TensorBoard reads it: records of a length, a checksum, an event and a checksum."""
    event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
    monkeypatch.setattr(rank_zero_only, "rank", 3)  # as where SLURM gave a rank to what started it
    trained("work", **LOGGING)
    (folder,) = (store.root / "logs" / "masking" / "pretrain").iterdir()
    assert folder.name == f"{JOB.id}--masking-80-10-10-seed0"
    assert "beta1: 0.9" in (folder / "hparams.yaml").read_text()
    (path,) = folder.glob("events.out.tfevents.*")
    data, events = path.read_bytes(), []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        events.append(event_pb2.Event.FromString(data[12 : 12 + size]))
        data = data[size + 16 :]
    scalars = [
        (event.step, value.simple_value)
        for event in events
        for value in event.summary.value
        if value.tag == "train/loss"
    ]
    curve = [(line["step"], pytest.approx(line["loss"])) for line in lines(tmp_path / "work") if "loss" in line]
    assert scalars == curve
    tags = {value.tag for event in events for value in event.summary.value}
    assert {"heldout/masked_lm_loss", "result/perplexity", "_hparams_/experiment"} <= tags
