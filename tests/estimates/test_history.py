"""What finished runs took, what it says of others, and the time left while jobs run, with a clock of the test."""

import dataclasses
import json
import os

import pytest

from bertlab.estimates import eta
from bertlab.estimates.cost import JOB_SECONDS, gpu_seconds
from bertlab.estimates.eta import TEXT_SPEED, Eta
from bertlab.estimates.history import RuntimeHistory, _same_machine
from bertlab.lab.jobs import CheckpointImport, CorpusPreparation, Evaluation, Pretraining
from bertlab.lab.jobs.base import Text, Work
from bertlab.lab.plan import Request, make
from bertlab.lab.scales import find
from bertlab.lab.studies import find as study
from bertlab.machine import Machine, processor
from bertlab.model.interop.checkpoint import Checkpoint
from bertlab.recipe import cost
from bertlab.recipe.identity import to_canonical
from bertlab.store.result import Environment
from bertlab.store.runs import Store
from bertlab.text.tokenizers import WordPiece


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


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def jobs(*steps):
    """Pre-trainings of some steps."""
    recipe = find("smoke").recipe
    corpus = CorpusPreparation(recipe.corpus, recipe.tokenizer, ())
    made = (dataclasses.replace(recipe.schedule, steps=number) for number in steps)
    recipes = [dataclasses.replace(recipe, seed=seed, schedule=each) for seed, each in enumerate(made)]
    return [Pretraining(each, corpus, "study-variant") for each in recipes]


def text_of(monkeypatch, size):
    """Every corpus is of a text of this many bytes."""
    work = Work(text=Text(size, WordPiece(), None, ""))
    monkeypatch.setattr(CorpusPreparation, "work", lambda job: work)


@pytest.fixture
def started():
    """The time left of some jobs, with a clock at 0."""

    def start(made, known=lambda job, devices: None, workers=0):
        found = Eta.of_pending(made, Machine(workers=workers, threads=1), known)
        found.clock = Clock()
        return found

    return start


def test_the_speed_of_the_first_training_gives_the_time_of_all(started):
    made = jobs(1000, 3000, 0)
    one, two = made[:2]
    assert cost.flops(two.recipe) == pytest.approx(3 * cost.flops(one.recipe))
    left = started(made)
    assert left.seconds() is None
    left.begin(one)
    left.clock.now = 20.0  # torch loads
    left.at(one, 0.0)
    assert left.seconds() is None
    left.clock.now = 30.0
    left.at(one, 0.1)
    # a tenth of the first job in ten seconds: 90 s left of it, 300 s of the second, and 3 s of the third
    assert left.seconds() == pytest.approx(90 + 300 + 3)
    left.clock.now = 120.0
    left.end(one)
    assert left.seconds() == pytest.approx(360 + 3), "with the time to load torch"


def test_a_training_that_went_on_from_a_checkpoint_counts_with_what_was_left_of_it(started):
    one, _ = made = jobs(1000, 3000)
    left = started(made)
    left.begin(one)
    left.clock.now = 20.0
    left.at(one, 0.9)
    left.clock.now = 30.0
    left.end(one)
    assert left.seconds() == pytest.approx(30 * 3 / 0.1)


def test_a_job_unlike_all_that_ran_before_is_guessed_from_the_pace_of_the_others(started):
    one, two = jobs(1000, 3000)
    left = started([one, two], known=lambda job, devices: 50.0 if job is one else None)
    assert left.seconds() == pytest.approx(50 + 150)
    assert left.guessed


def test_two_workers_take_half_as_long(started):
    made = jobs(1000, 1000, 1000, 1000)
    left = started(made, lambda job, devices: 60.0 / devices, workers=2)
    assert left.seconds() == pytest.approx(120.0)
    left.begin(made[0])
    left.begin(made[1])
    left.at(made[0], 0.5)
    assert left.seconds() == pytest.approx((30 + 60 + 60 + 60) / 2)


def test_a_job_without_a_result_is_not_waited_for(started):
    one, two = made = jobs(1000, 1000)
    left = started(made, lambda job, devices: 60.0)
    left.begin(one)
    left.end(one, done=False)
    assert left.seconds() == 60.0
    left.begin(two)
    left.end(two)
    assert left.seconds() == 0.0


def test_a_corpus_takes_the_time_of_its_bytes_until_it_shows_its_speed(started, monkeypatch):
    text_of(monkeypatch, 6_000_000)
    (one,) = jobs(1000)
    left = started([one.corpus, one], lambda job, devices: 60.0 if job == one else None)
    left.begin(one.corpus)
    left.clock.now = 2.0
    assert left.seconds() == pytest.approx(JOB_SECONDS + 6 - 2 + 60)
    left.at(one.corpus, 0.1)
    left.clock.now = 12.0
    left.at(one.corpus, 0.6)
    assert left.seconds() == pytest.approx(0.4 * 10 / 0.5 + 60)


@pytest.mark.parametrize(("size", "guessed"), [(23_000_000, False), (25_000_000, True), (0, True)])
def test_while_a_large_corpus_is_prepared_the_speed_of_training_is_a_guess(started, monkeypatch, size, guessed):
    text_of(monkeypatch, size)
    monkeypatch.setattr(eta.microbenchmark, "peak", lambda machine: 1e9)
    (one,) = jobs(1000)
    corpus = one.corpus
    left = started([corpus, one])
    left.begin(corpus)
    training = gpu_seconds(1e9)(one, 1)
    assert left.seconds() == (pytest.approx(JOB_SECONDS + size / TEXT_SPEED + training) if guessed else None)
    assert left.guessed
    left.end(corpus)
    left.begin(one)
    left.at(one, 0.0)
    left.clock.now = 10.0
    left.at(one, 0.1)
    assert left.seconds() == pytest.approx(90), "measured"
    assert not left.guessed
    assert [*started([corpus]).guesses] == [corpus.id], "nothing is trained"
