"""What an attempt of a job leaves behind, and how an error becomes the reason of its failure."""

import errno
import os
from dataclasses import dataclass, replace

import pytest

from bertlab.errors import ArmFailed, BadInput, RunFailed
from bertlab.execution import attempt as attempts
from bertlab.execution.attempt import attempt, missing
from bertlab.lab import plan, scales, studies
from bertlab.objectives import MaskedLM
from bertlab.store.files import read_json
from bertlab.store.result import Failure
from bertlab.store.runs import Store


@pytest.fixture(scope="module")
def jobs(machine):
    return plan.make(plan.Request(studies=(studies.find("masking"),), scale=scales.find("smoke")), machine).jobs


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "runs")
    made.create_directories()
    return made


def result(work, progress):
    (work / "weights.bin").write_bytes(b"weights")
    return {"status": "done"}


def fails(error):
    def run(work, progress):
        (work / "part").write_text("")
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "place", "reason"),
    [
        (ValueError(), "mine.py, line 3", "ValueError (mine.py, line 3)"),
        (ValueError("too\nlong"), "mine.py, line 3", "ValueError: too long (mine.py, line 3)"),
        (ValueError(), "", "ValueError"),
        (ValueError("too long"), "", "too long"),
    ],
)
def test_the_reason_names_an_error_once(jobs, store, machine, monkeypatch, error, place, reason):
    monkeypatch.setattr(attempts, "place_of", lambda error: place)
    ended = attempt(jobs[0], store, machine, run=fails(error))
    assert (ended.status, ended.reason) == ("failed", reason)


def test_a_full_disk_keeps_nothing_of_a_text_that_is_prepared(tmp_path, machine):
    def fill(work, progress):
        (work / "tokens.bin").write_bytes(b"0" * 100)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    job = plan.make(plan.Request(studies=(studies.find("masking"),), scale=scales.find("smoke")), machine).jobs[0]
    store = Store(tmp_path / "runs")
    store.create_directories()
    ended = attempts.attempt(job, store, machine, run=fill)
    assert ended.status == "refused"
    assert "No space left on device" in ended.reason
    assert not list((store.root / "corpus").iterdir())


@pytest.mark.parametrize(
    ("error", "place", "final"),
    [
        (NameError("x"), "mine.py, line 3", True),
        (NameError("x"), "", False),
        (ValueError("x"), "mine.py, line 3", False),
        (ArmFailed("x"), "", True),
        (RunFailed("x"), "", False),
        (RunFailed("x", status="diverged"), "", True),
    ],
)
def test_mistakes_in_a_study_file_are_final(jobs, store, machine, monkeypatch, error, place, final):
    monkeypatch.setattr(attempts, "place_of", lambda error: place)
    assert attempt(jobs[0], store, machine, run=fails(error)).final is final


def test_the_place_of_a_mistake_is_named_once(jobs, store, machine, monkeypatch):
    monkeypatch.setattr(attempts, "place_of", lambda error: "mine.py, line 3")
    assert attempt(jobs[0], store, machine, run=fails(KeyError("x"))).reason == "KeyError: 'x' (mine.py, line 3)"
    named = "Own.loss_sum (mine.py, line 9) returns None"
    assert attempt(jobs[0], store, machine, run=fails(ArmFailed(named))).reason == named


def test_what_ended_meanwhile_is_not_run_again(jobs, store, machine):
    corpus, pretrain, *_ = jobs
    assert attempt(corpus, store, machine, run=result).status == "done"
    again = attempt(corpus, store, machine, run=fails(AssertionError()))
    assert (again.status, again.seconds) == ("done", 0.0)
    store.fail(Failure(id=pretrain.id, status="diverged", reason="at step 3", log="a log"))
    ended = attempt(pretrain, store, machine, run=fails(AssertionError()))
    assert (ended.status, ended.reason, ended.log, ended.final) == ("diverged", "at step 3", "a log", True)


def test_a_pre_training_alone_keeps_its_work_and_its_own_times(jobs, store, machine):
    corpus, pretrain, *_ = jobs
    for job in (corpus, pretrain):
        assert attempt(job, store, machine, run=fails(BadInput("no room"))).status == "refused"
    assert [run_id for _, run_id, _ in store.unfinished()] == [pretrain.id]
    for job in (corpus, pretrain):
        (store.work(job.kind, job.id) / "part").write_text("")  # of an attempt that was killed
        assert attempt(job, store, machine, run=result).status == "done"
    made = [store.get(job.id) for job in (corpus, pretrain)]
    assert [("part" in run.manifest(), [line.stage for line in run.timing()]) for run in made] == [
        (False, ["corpus"]), (True, [])
    ]  # fmt: skip


def test_the_numerics_of_every_part_of_a_training_are_kept(jobs, store, machine):
    pretrain = jobs[1]
    for number in range(3):
        assert attempt(pretrain, store, machine, run=fails(BadInput("no room")), processes=2 + number).reason
    environment = read_json(store.work("pretrain", pretrain.id) / "environment.json", dict)
    parts = [*environment["earlier"], environment["numerics"]]
    assert [each["processes"] for each in parts] == [2, 3, 4]


def test_a_job_waits_for_whole_runs_of_what_it_needs(jobs, store, machine):
    corpus, pretrain, *_ = jobs
    attempt(corpus, store, machine, run=result)
    assert missing(pretrain, store) is None
    (store.get(corpus.id).path / "weights.bin").write_bytes(b"weightz")
    ended = missing(pretrain, store)
    assert ended.status == "failed"
    assert "weights.bin' was damaged" in ended.reason


@pytest.mark.parametrize(
    "error", [SystemExit(3), SystemExit(), type("Mine", (BaseException,), {})("why"), GeneratorExit()]
)
def test_a_study_file_does_not_end_the_process(jobs, store, machine, monkeypatch, error):
    monkeypatch.setattr(attempts, "place_of", lambda error: "mine.py, line 3")
    ended = attempt(jobs[0], store, machine, run=fails(error))
    assert (ended.status, ended.final) == ("failed", True)
    text = f": {error}" if str(error) else ""
    assert ended.reason == f"{type(error).__name__}{text} (mine.py, line 3)"


def test_what_no_study_file_raised_ends_the_process(jobs, store, machine, monkeypatch):
    for error, place in ((SystemExit(3), ""), (KeyboardInterrupt(), ""), (KeyboardInterrupt(), "mine.py, line 3")):
        monkeypatch.setattr(attempts, "place_of", lambda error, place=place: place)
        with pytest.raises(type(error)):
            attempt(jobs[0], store, machine, run=fails(error))


def test_an_error_without_a_place_names_the_parts_of_the_study_file(jobs, store, machine):
    mine = dataclass(frozen=True, kw_only=True)(type("Mine", (MaskedLM,), {"kind": "mine"}))
    pretrain = next(job for job in jobs if job.kind == "pretrain")
    own = replace(pretrain, recipe=replace(pretrain.recipe, objective=(mine(),)))
    for job, added in ((own, " (in a run with Mine of a study file)"), (pretrain, "")):
        reason = attempt(job, store, machine, run=fails(IndexError("Target 9 is out of bounds"))).reason
        assert reason == f"Target 9 is out of bounds{added}"


def test_an_error_whose_text_raises_is_a_reason(jobs, store, machine, monkeypatch):
    class Silent(Exception):
        def __str__(self):
            raise ValueError

    monkeypatch.setattr(attempts, "place_of", lambda error: "mine.py, line 3")
    assert attempt(jobs[0], store, machine, run=fails(Silent())).reason == "Silent (mine.py, line 3)"
