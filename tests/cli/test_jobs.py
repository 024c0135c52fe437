"""What is shown before jobs run, which failures are tried again, and how they are listed."""

import json

import pytest

from bertlab.cli import jobs as cli_jobs
from bertlab.estimates.cost import estimate
from bertlab.lab import plan, scales, studies
from bertlab.lab.jobs import Evaluation, Pretraining
from bertlab.store.result import Failure
from bertlab.store.runs import Store


@pytest.fixture(scope="module")
def made(machine):
    return plan.make(plan.Request(studies=(studies.find("masking"),), scale=scales.find("smoke")), machine)


@pytest.mark.parametrize(("retry", "kept"), [(False, 2), (True, 1)])
def test_failures_of_the_jobs_are_forgotten_with_retry_alone(made, machine, tmp_path, monkeypatch, retry, kept):
    store, found = Store(tmp_path / "runs"), []
    store.create_directories()
    jobs = [job for job in made.jobs if not isinstance(job, Evaluation)]
    for run_id in (jobs[1].id, "a" * 16):
        store.fail(Failure(id=run_id, status="diverged"))
    monkeypatch.setattr(cli_jobs, "execute", lambda *given: found.append(len(store.failures())) or [])
    assert cli_jobs.run_jobs(jobs, store, machine, retry=retry)
    assert found == [kept]


def test_a_job_that_diverged_before_is_named_as_its_store_lists_it(made, machine, tmp_path, monkeypatch, capsys):
    store = Store(tmp_path / "runs")
    job = next(job for job in made.jobs if isinstance(job, Pretraining))
    monkeypatch.setattr(cli_jobs, "execute", lambda *given: [job])
    monkeypatch.setattr(cli_jobs, "addresses_of", lambda store: {job.id: ("masking/80/10/10/0",)})
    assert not cli_jobs.run_jobs(made.jobs, store, machine)
    printed = capsys.readouterr().err
    assert f"has no result (see `bertlab runs --runs {store.root}`):" in printed
    assert "  pretrain masking/80/10/10/0: a job that it needs has failed" in printed


def test_a_plan_has_times_if_all_of_them_are_known(made, machine, tmp_path, capsys):
    store = Store(tmp_path / "runs")
    for known in (Pretraining, object):
        found = estimate(
            made,
            store,
            machine,
            lambda job, devices, known=known: 60.0 * isinstance(job, known) or None,
            read_tasks=False,
        )
        cli_jobs.print_plan(made, store, machine, cost=found)
        heads = next(line for line in capsys.readouterr().out.splitlines() if "to run" in line)
        assert ("time" in heads) is (known is object)


def test_a_failed_training_with_a_checkpoint_is_listed_once(call, tmp_path, capsys):
    store = Store(tmp_path / "runs")
    store.create_directories()
    store.fail(Failure(id="a" * 16, kind="pretrain", label="one", status="failed", reason="no luck"))
    for run_id in ("a" * 16, "b" * 16):
        store.work("pretrain", run_id)
    assert call("runs", "--runs", store.root, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(run["id"], run["status"]) for run in found] == [("a" * 16, "failed"), ("b" * 16, "interrupted")]
