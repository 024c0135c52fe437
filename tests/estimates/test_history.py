"""What finished runs took, and what it says of others."""

import dataclasses
import json
import os

import pytest

from bertlab.estimates.history import RuntimeHistory, _same_machine
from bertlab.lab.jobs import CheckpointImport, CorpusPreparation, Evaluation, Pretraining
from bertlab.lab.plan import Request, make
from bertlab.lab.scales import find
from bertlab.lab.studies import find as study
from bertlab.machine import Machine, processor
from bertlab.model.interop.checkpoint import Checkpoint
from bertlab.recipe.identity import to_canonical
from bertlab.store.result import Environment
from bertlab.store.runs import Store


@pytest.fixture
def planned(machine):
    request = Request(studies=(study("masking"),), scale=find("smoke"), seeds=(0, 1), only=("80/10/10", "0/0/100"))
    return make(request, machine).jobs


def finish(store, job, times, science=None, **numerics):
    """Adds a finished run of a job with times by stage."""
    work = store.work(job.kind, job.id)
    lines = [json.dumps({"stage": stage, "step": 0, "seconds": seconds}) for stage, seconds in times]
    (work / "timing.jsonl").write_text("\n".join(lines) + "\n")
    (work / "recipe.json").write_text(json.dumps({"science": science or job.definition()}))
    numerics = {"torch": "2", "device": "cpu", "precision": "fp32", "threads": 1} | numerics
    environment = {"numerics": numerics, "processor": processor(), "cores": os.cpu_count()}
    (work / "environment.json").write_text(json.dumps(environment))
    (work / "result.json").write_text(json.dumps({"steps": 20}))
    store.finish(job.kind, job.id, job.label)


@pytest.fixture
def store(planned, machine, tmp_path):
    """The first seed, finished: 2 s a step and 3 s beside for the baseline, 7 s a fine-tuning, 4 s on features."""
    store = Store(tmp_path / "runs")
    store.create_directories()
    for job in planned:
        if isinstance(job, CorpusPreparation) or (job.seed if isinstance(job, Pretraining) else job.pretraining.seed):
            continue
        times = [("train", 20.0), ("evaluate", 1.0), ("train", 20.0), ("evaluate", 2.0)]
        if isinstance(job, Evaluation):
            times = [(job.kind, 7.0 if job.kind == "finetune" else 4.0)]
        finish(store, job, times)
    return store


def test_measurements_of_the_same_checkpoint_are_similar(planned, store, machine):
    given = CheckpointImport(Checkpoint("sha256:1", "bert"))
    finish(store, given, [("import", 1.0)], given.definition() | {"recipe": to_canonical(planned[1].recipe)})
    first = dataclasses.replace(next(job for job in planned if isinstance(job, Evaluation)), pretrained=given)
    finish(store, first, [("finetune", 9.0)])
    recorded = RuntimeHistory(store, machine)
    assert recorded.seconds(dataclasses.replace(first, finetune_seed=5)) == 9.0
    other = CheckpointImport(Checkpoint("sha256:2", "bert"))
    assert recorded.seconds(dataclasses.replace(first, pretrained=other)) is None


def test_a_finished_run_on_several_devices_took_the_time_of_each(planned, machine, tmp_path):
    store = Store(tmp_path / "group")
    store.create_directories()
    job = next(job for job in planned if isinstance(job, Pretraining))
    finish(store, job, [("train", 40.0)], processes=8)
    recorded = RuntimeHistory(store, machine)
    assert (recorded.seconds(job), recorded.seconds(job, 8)) == (320.0, 40.0)


def test_finished_runs_tell_of_those_alike(planned, store, machine):
    recorded = RuntimeHistory(store, machine)
    corpus, *others = planned
    assert recorded.seconds(corpus) is None
    assert {(job.kind, recorded.seconds(job)) for job in others} == {
        ("pretrain", 43.0),
        ("finetune", 7.0),
        ("features", 4.0),
    }


def test_a_longer_training_takes_longer(planned, store, machine):
    job = next(job for job in planned if isinstance(job, Pretraining))
    schedule = dataclasses.replace(job.recipe.schedule, steps=100, peak_lr=1e-4)
    longer = dataclasses.replace(job, recipe=dataclasses.replace(job.recipe, schedule=schedule))
    assert RuntimeHistory(store, machine).seconds(longer) == 100 * 2 + 3


@pytest.mark.parametrize("change", [{"threads": 2}, {"precision": "bf16"}])
def test_runs_that_were_computed_otherwise_say_nothing(planned, store, machine, change):
    recorded = RuntimeHistory(store, dataclasses.replace(machine, **change))
    finished, other = (
        next(job for job in planned if isinstance(job, Pretraining) and job.seed == seed) for seed in (0, 1)
    )
    assert recorded.seconds(finished) == 43.0  # but for themselves
    assert recorded.seconds(other) is None


def test_trainings_that_are_not_compiled_say_nothing_of_those_that_are(planned, store, machine, monkeypatch):
    other = next(job for job in planned if isinstance(job, Pretraining) and job.seed == 1)
    assert RuntimeHistory(store, machine).seconds(other) == 43.0
    monkeypatch.setattr(Machine, "compiles", lambda machine, recipe: True)
    assert RuntimeHistory(store, machine).seconds(other) is None


@pytest.mark.parametrize("change", ["processor", "cores"])
def test_runs_of_another_machine_say_nothing(planned, store, machine, monkeypatch, change):
    other = next(job for job in planned if isinstance(job, Pretraining) and job.seed == 1)
    assert RuntimeHistory(store, machine).seconds(other) == 43.0
    if change == "processor":
        monkeypatch.setattr("bertlab.estimates.history.processor", lambda: "another")
    else:
        monkeypatch.setattr(os, "cpu_count", lambda: 1000)
    assert RuntimeHistory(store, machine).seconds(other) is None


@pytest.mark.parametrize(
    ("device", "precision", "alike"),
    [("card", "bf16", True), ("another card", "bf16", False), ("card", "fp32", False), ("cpu", "bf16", False)],
)
def test_runs_on_a_gpu_tell_of_the_same_gpu_in_the_same_precision(monkeypatch, device, precision, alike):
    monkeypatch.setattr(Machine, "device_name", "card")
    numerics = {"device": device, "precision": precision, "threads": 3}
    assert _same_machine(Environment(numerics=numerics), Machine(gpus=1, precision="bf16")) is alike


def test_linguistic_spans_take_no_time_in_training(machine, tmp_path):
    jobs = make(Request(studies=(study("spans"),), scale=find("smoke")), machine).jobs
    assert len({job.similar_to(machine) for job in jobs if isinstance(job, CorpusPreparation)}) == 2
    models = [job for job in jobs if isinstance(job, Pretraining)]
    assert len({job.similar_to(machine) for job in models}) == 2  # subword tokens have no evaluation of their own
    tasks = {job.data.name for job in jobs if isinstance(job, Evaluation)}
    assert len({job.similar_to(machine) for job in jobs if isinstance(job, Evaluation)}) == len(tasks)
    store = Store(tmp_path / "annotated")
    store.create_directories()
    done = next(job for job in models if job.recipe.annotated)
    finish(store, done, [("train", 40.0)])
    recorded = RuntimeHistory(store, machine)
    assert len({recorded.seconds(job) for job in models if job.recipe.annotated}) == 1, "a finished one tells of others"
    again = dataclasses.replace(done, recipe=dataclasses.replace(done.recipe, seed=1))
    assert recorded.seconds(again) == 40.0
