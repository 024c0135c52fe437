"""What is shown before jobs run, and which failures are tried again."""

import pytest

from bertlab.cli import carry_out
from bertlab.estimates.estimate import estimate
from bertlab.lab import plan, scales, studies
from bertlab.lab.jobs import Measure, Pretrain
from bertlab.store.runs import Store


@pytest.fixture(scope="module")
def made(machine):
    return plan.make(plan.Request(studies=(studies.find("masking"),), scale=scales.find("smoke")), machine)


@pytest.mark.parametrize(("retry", "kept"), [(False, 2), (True, 1)])
def test_failures_of_the_jobs_are_forgotten_with_retry_alone(made, machine, tmp_path, monkeypatch, retry, kept):
    store, found = Store(tmp_path / "runs"), []
    store.prepare()
    jobs = [job for job in made.jobs if not isinstance(job, Measure)]
    for run_id in (jobs[1].id, "another"):
        store.fail({"id": run_id, "status": "diverged"})
    monkeypatch.setattr(carry_out, "execute", lambda *given: found.append(len(store.failures())) or [])
    assert carry_out.carry_out(jobs, store, machine, retry=retry)
    assert found == [kept]


def test_a_plan_has_times_if_all_of_them_are_known(made, machine, tmp_path, capsys):
    store = Store(tmp_path / "runs")
    for known in (Pretrain, object):
        found = estimate(
            made,
            store,
            machine,
            lambda job, devices, known=known: 60.0 * isinstance(job, known) or None,
            read_tasks=False,
        )
        carry_out.draw(made, store, machine, found=found)
        heads = next(line for line in capsys.readouterr().out.splitlines() if "to run" in line)
        assert ("time" in heads) is (known is object)
