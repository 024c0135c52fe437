"""The order of jobs, their devices, and the effects of failures.

The engine is made up; the plan and the store are real.
"""

import os
import re
import threading
import time
from contextlib import contextmanager

import pytest

from bertlab import errors
from bertlab.errors import BadInput
from bertlab.execution import schedule
from bertlab.execution.attempt import Ended
from bertlab.execution.schedule import TRIES, Scheduler, execute, most_at_once
from bertlab.lab import plan, scales, studies
from bertlab.lab.jobs import Evaluation, Pretraining
from bertlab.machine import Machine
from bertlab.progress import silent
from bertlab.store import locks
from bertlab.store.runs import Store
from bertlab.store.writes import write_json


class Watching:
    """An observer that records its calls."""

    def __init__(self):
        self.begun, self.ended, self.retried, self.lost = [], [], [], []

    def begin(self, job, number, total):
        self.begun.append((number, total))
        return silent

    def end(self, job, run, seconds):
        self.ended.append(job.id)

    def failed(self, job, reason, *, again):
        (self.retried if again else self.lost).append((job.id, reason))


class Engine:
    """Some devices. The job that begins first ends first, sealed, unless `endings` has another end for it."""

    def __init__(self, store, free=1, endings=(), wide=1):
        self.store, self.room, self.wide = store, free, wide
        self.endings = {job: list(each) for job, each in dict(endings).items()}
        self.running, self.begun, self.most = [], [], 0

    def devices(self, job):
        return self.wide if isinstance(job, Pretraining) else 1

    def free(self):
        return self.room - sum(self.devices(job) for job in self.running)

    def begin(self, job, progress):
        assert all(self.store.get(need.id) for need in job.needs)
        assert self.devices(job) <= self.free()
        self.running.append(job)
        self.begun.append(job)
        self.most = max(self.most, len(self.running))

    def ended(self):
        if not self.running:
            return []
        job = self.running.pop(0)
        how = self.endings.get(job.id, []).pop(0) if self.endings.get(job.id) else Ended("done")
        if how.status == "done":
            work = self.store.work(job.kind, job.id)
            write_json(work, "recipe.json", {"science": {}})
            write_json(work, "result.json", {"status": "done"})
            self.store.finish(job.kind, job.id, job.label)
        return [(job, how)]


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "runs")
    made.create_directories()
    return made


@pytest.fixture(scope="module")
def jobs(machine):
    """Two variants of Table 8: the corpus, two pre-trainings, six measurements."""
    request = plan.Request(studies=(studies.find("masking"),), scale=scales.find("smoke"), only=("80/10/10", "0/0/100"))
    return plan.make(request, machine).jobs


def carried_out(jobs, store, engine, observer=None):
    remaining = Scheduler(jobs, store, observer or Watching())
    remaining.carry_out(engine)
    return remaining.lost


@pytest.mark.parametrize("free", [1, 2, 3, 8])
def test_every_job_is_done_once_after_what_it_needs_and_no_device_waits(jobs, store, free):
    engine, observer = Engine(store, free), Watching()
    assert carried_out(jobs, store, engine, observer) == []
    assert sorted(job.id for job in engine.begun) == sorted(job.id for job in jobs) == sorted(observer.ended)
    assert engine.most == min(free, 6)  # all measurements of both variants, side by side
    assert observer.begun == [(number, len(jobs)) for number in range(1, len(jobs) + 1)]


@pytest.mark.parametrize("fails", [False, True])
def test_training_starts_once_when_the_corpus_is_there(jobs, store, machine, monkeypatch, fails):
    endings = {jobs[0].id: [Ended("failed", "no luck")] * TRIES} if fails else {}
    monkeypatch.setattr(schedule, "Engine", lambda store, machine: Engine(store, endings=endings))
    started = []
    lost = execute(jobs, store, machine, Watching(), lambda: started.append([run.kind for run in store.runs()]))
    assert started == ([] if fails else [["corpus"]])
    assert len(lost) == (len(jobs) if fails else 0)


def test_few_runs_on_shared_gpus_do_not_start_ray(jobs, store, monkeypatch):
    """Three measurements need three of eight places; three GPUs for themselves would be divided by Ray."""
    corpus, variant = [job for job in jobs if not isinstance(job, Evaluation)][:2]
    few = [corpus, variant, *(job for job in jobs if isinstance(job, Evaluation) and job.pretraining.id == variant.id)]
    given, preparing = [], []

    @contextmanager
    def workers(store, machine, jobs):
        given.append((machine.gpus, machine.runs_per_gpu))
        yield Engine(store, machine.devices)

    def here(store, machine):
        preparing.append(machine.gpus)
        return Engine(store)

    monkeypatch.setattr("bertlab.execution.processes.processes", workers)
    monkeypatch.setattr("bertlab.execution.on_ray.workers", None)
    monkeypatch.setattr(schedule, "Engine", here)
    monkeypatch.setattr(Machine, "check", lambda self: None)
    assert execute(few, store, Machine(gpus=4, runs_per_gpu=2), Watching(), lambda: None) == []
    assert given == [(3, 1)]
    assert preparing == [0]  # text is prepared on the CPU


def test_workers_begin_with_the_longest_jobs(jobs, store, monkeypatch):
    engine = Engine(store)

    @contextmanager
    def workers(store, machine, jobs):
        yield engine

    monkeypatch.setattr("bertlab.execution.processes.processes", workers)
    monkeypatch.setattr(schedule, "Engine", lambda store, machine: Engine(store))
    assert execute(jobs, store, Machine(workers=2), Watching(), lambda: None) == []
    assert [job.kind for job in engine.begun[:3]] == ["pretrain", "pretrain", "finetune"]


def test_a_pretraining_on_several_devices_waits_until_they_are_free(jobs, store):
    engine = Engine(store, free=2, wide=2)
    assert carried_out(sorted(jobs, key=schedule._flops, reverse=True), store, engine) == []
    assert [isinstance(job, Pretraining) for job in engine.begun[1:3]] == [True, True]


def test_a_job_that_fails_is_tried_once_more(jobs, store):
    job = next(job for job in jobs if isinstance(job, Evaluation))
    engine, observer = Engine(store, endings={job.id: [Ended("failed", "no luck")]}), Watching()
    assert carried_out(jobs, store, engine, observer) == observer.lost == store.failures() == []
    assert [each.id for each in engine.begun].count(job.id) == TRIES
    assert observer.retried == [(job.id, "failed: no luck")]


def test_a_job_that_fails_again_is_lost_with_what_needs_it_and_the_rest_goes_on(jobs, store):
    job = next(job for job in jobs if isinstance(job, Pretraining))
    engine, observer = Engine(store, 2, {job.id: [Ended("failed", "no luck", "a log")] * TRIES}), Watching()
    lost = carried_out(jobs, store, engine, observer)
    assert {each.id for each in lost} == {job.id, *(each.id for each in jobs if job in each.needs)}
    assert observer.lost == [(job.id, "failed: no luck")]
    (kept,) = store.failures()
    assert (kept.id, kept.status, kept.reason, kept.log) == (job.id, "failed", "no luck", "a log")
    assert len(observer.ended) == len(jobs) - len(lost) == 5


def test_what_diverged_is_final_here_and_in_the_next_command(jobs, store):
    job = next(job for job in jobs if isinstance(job, Pretraining))
    first = Engine(store, endings={job.id: [Ended("diverged", "at step 3", final=True)]})
    lost = carried_out(jobs, store, first)
    assert [each.id for each in first.begun].count(job.id) == 1
    again = Engine(store)
    assert {each.id for each in carried_out(jobs, store, again)} == {each.id for each in lost}
    assert again.begun == []
    store.clear_failure(job.id)
    assert carried_out(jobs, store, again) == []


def test_bad_input_ends_everything(jobs, store):
    with pytest.raises(BadInput, match="this is wrong"):
        carried_out(jobs, store, Engine(store, endings={jobs[0].id: [Ended("refused", "this is wrong")]}))


def test_a_run_that_another_command_works_on_is_waited_for_behind_the_others(jobs, store):
    first, second = (job for job in jobs if isinstance(job, Pretraining))
    engine = Engine(store)
    carried_out(jobs[:1], store, engine)
    with store.locks.run(first.id) as lock:
        lock(7, 20, "pre-training", loss=2.5)
        at = store.locks.progress(first.id)
        assert (at.done, at.total, at.stage, at.figures) == (7, 20, "pre-training", {"loss": 2.5})
        remaining = Scheduler(jobs, store, Watching())
        begun = []
        while (job := remaining._next(engine, lambda job: True)) is not None:
            del remaining.todo[job.id]
            remaining.begun[job.id] += 1
            engine.begin(job, silent)
            begun.append(job)
            for each, how in engine.ended():
                remaining._end(each, how)
        assert begun[0] is second
        assert first not in begun
    assert store.locks.progress(first.id) is None
    remaining.carry_out(engine)
    assert remaining.lost == []


def test_who_is_waited_for_is_said_once(jobs, store, monkeypatch, capsys, until):
    """Its holder may be a stopped process, or one on another machine."""
    monkeypatch.setattr(locks, "SECONDS_OF_SILENCE", 0.3)
    monkeypatch.setattr(errors, "_warned", set())
    first = next(job for job in jobs if isinstance(job, Pretraining))
    held = threading.Event()

    def hold():
        with store.locks.run(first.id) as lock:
            lock(7, 20, "pre-training")
            held.set()
            until(lambda: errors._warned)
            time.sleep(0.9)  # silence enough to say it twice more

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(600)
    assert carried_out(jobs, store, Engine(store)) == []
    holder.join()
    (line,) = capsys.readouterr().err.splitlines()
    said = rf"waiting for process {os.getpid()} on \S+ since \d\d:\d\d:\d\d, which works on run {first.id} "
    assert re.search(said, line)


def test_a_lock_found_out_late_is_tried_again(jobs, store):
    job = next(job for job in jobs if isinstance(job, Pretraining))
    engine = Engine(store, endings={job.id: [*[Ended("locked")] * 3, Ended("failed", "no luck")]})
    assert carried_out(jobs, store, engine) == []
    assert [each.id for each in engine.begun].count(job.id) == 3 + TRIES


def test_how_many_jobs_can_run_at_once(jobs):
    """The corpus, two pre-trainings, three measurements of each."""
    corpus, *rest = jobs
    one, two = (job for job in rest if isinstance(job, Pretraining))
    measured = [job for job in rest if job.needs == (one,)]
    assert len(measured) == 3
    cases = {(): 0, (one,): 1, (corpus, one): 1, (corpus, one, two): 2, (one, measured[0]): 1, (two, measured[0]): 2}
    for some, most in (cases | {(one, *measured): 3, (*measured, two): 4, tuple(jobs): 6}).items():
        assert most_at_once(some) == most


def test_long_jobs_come_before_short_ones(machine):
    jobs = plan.make(plan.Request(studies=(studies.find("size"),), scale=scales.find("tiny")), machine).jobs
    order = sorted(jobs, key=schedule._flops, reverse=True)
    trained = [job for job in order if isinstance(job, Pretraining)]
    assert order[: len(trained)] == trained
    sizes = [job.recipe.model.layers * job.recipe.model.hidden**2 for job in trained]
    assert sizes == sorted(sizes, reverse=True)


def test_a_corpus_whose_pre_trainings_are_finished_is_not_prepared_anew(jobs, store):
    corpus, *rest = jobs
    carried_out(jobs, store, Engine(store))
    measure = next(job for job in rest if isinstance(job, Evaluation))
    for gone, begun in (((corpus, measure), [measure]), ((measure.pretraining,), [corpus, measure.pretraining])):
        store.remove([store.get(job.id) for job in gone])
        engine, observer = Engine(store), Watching()
        assert carried_out(jobs, store, engine, observer) == []
        assert engine.begun == begun
        assert observer.begun == [(number, len(begun)) for number in range(1, len(begun) + 1)]
    store.remove([store.get(corpus.id)])
    engine = Engine(store)
    assert carried_out([corpus], store, engine) == []
    assert engine.begun == [corpus], "no pre-training was asked for"


@pytest.mark.parametrize("corpus", [True, False])
@pytest.mark.parametrize("free", [1, 2])
def test_what_is_found_damaged_when_it_is_to_be_used_is_made_anew(jobs, store, free, corpus):
    job = next(job for job in jobs if isinstance(job, Evaluation))
    engine = Engine(store)
    carried_out(jobs, store, engine)
    store.remove([store.get(each) for each in (job.id, *(() if corpus else (jobs[0].id,)))])

    class Damaged(Engine):
        def begin(self, begun, progress):
            if begun is job and not self.begun:
                self.store.remove([self.store.get(job.pretraining.id)])
                self.endings = {job.id: [Ended("failed", "weights were damaged")]}
                self.running.append(begun)
                self.begun.append(begun)
            else:
                super().begin(begun, progress)

    again = Damaged(store, free)
    assert carried_out(jobs, store, again) == []
    assert [each.id for each in again.begun] == [
        job.id, *(() if corpus else (jobs[0].id,)), job.pretraining.id, job.id,
    ]  # fmt: skip


def test_a_damaged_run_that_is_not_of_the_plan_is_not_made_anew(jobs, store):
    """Such as the model of `--from`, whose corpus may not be there: nothing is trained or waited for."""
    job = next(job for job in jobs if isinstance(job, Evaluation))
    carried_out(jobs, store, Engine(store))
    store.remove([store.get(job.id)])

    class Damaged(Engine):
        def begin(self, begun, progress):
            self.store.remove([self.store.get(job.pretraining.id)])
            self.running.append(begun)
            self.begun.append(begun)

    again = Damaged(store, endings={job.id: [Ended("failed", "weights were damaged")]})
    assert carried_out([job], store, again) == [job]
    assert again.begun == [job]


@pytest.fixture(scope="module")
def sharing(machine):
    """Two trunks, of a decay and of two others, and what goes on from them; nothing else is measured."""
    request = plan.Request(
        studies=(studies.find("lr-schedule"),),
        scale=scales.find("smoke"),
        only=("linear", "stable, then linear", "constant"),
        measure=("LM perplexity",),
    )
    return plan.make(request, machine).jobs


def runs_of(store, kind):
    return {run.id for run in store.runs() if run.kind == kind}


def test_a_trunk_is_trained_once_and_removed_when_nothing_goes_on_from_it(sharing, store):
    corpus, first, _, second, *others = sharing
    assert [job.kind for job in sharing] == ["corpus", "trunk", "pretrain", "trunk", "pretrain", "pretrain"]
    assert [job.needs for job in sharing[1:]] == [
        (corpus,), (corpus, first), (corpus, first), (corpus, second), (corpus, second),
    ]  # fmt: skip
    kept = []

    class Looking(Engine):
        def begin(self, job, progress):
            kept.append(runs_of(store, "trunk"))
            super().begin(job, progress)

    assert carried_out(sharing, store, Looking(store)) == []
    assert kept == [set(), set(), {first.id}, {first.id}, {second.id}, {second.id}]
    assert runs_of(store, "trunk") == set()
    again = Engine(store)
    assert carried_out(sharing, store, again) == []
    assert again.begun == []
    store.remove([store.get(others[0].id)])
    assert carried_out(sharing, store, again) == []
    assert again.begun == [first, second, others[0]]


def test_a_trunk_that_another_command_needs_stays(sharing, store):
    with Store(store.root).locks.reserved([sharing[1].id]):
        assert carried_out(sharing, store, Engine(store)) == []
    assert runs_of(store, "trunk") == {sharing[1].id}
    remaining = Scheduler(sharing, store, Watching())
    with store.locks.reserved(job.id for job in sharing):
        remaining.remove_passed(sharing)
    assert runs_of(store, "trunk") == set()


def test_a_trunk_that_diverges_is_the_end_of_what_begins_with_it(sharing, store):
    _, first, *rest = sharing
    diverged = Ended("diverged", "diverged at step 1: the loss is not finite", final=True)
    lost = carried_out(sharing, store, Engine(store, endings={first.id: [diverged]}))
    assert {job.id for job in lost} == {first.id, *(job.id for job in rest)}
    assert {(failure.id, failure.reason) for failure in store.failures()} == {(job.id, diverged.reason) for job in lost}


def test_a_trunk_that_is_gone_is_trained_again_after_the_one_before_it(sharing, store):
    _, first, _, second, one, _ = sharing
    carried_out(sharing[:4], store, Engine(store))

    class Gone(Engine):
        def begin(self, job, progress):
            if job is one and one not in self.begun:
                store.remove([store.get(trunk.id) for trunk in (first, second) if store.get(trunk.id)])
                self.endings = {one.id: [Ended("failed", f"run {second.id} is gone")]}
                self.running.append(job)
                self.begun.append(job)
            else:
                super().begin(job, progress)

    again = Gone(store)
    assert carried_out(sharing, store, again) == []
    assert again.begun[:3] == [one, first, second]
    assert again.begun[-1] is one
