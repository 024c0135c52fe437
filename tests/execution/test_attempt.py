"""How an error of a job becomes the reason of its failure."""

import pytest

from bertlab.execution import attempt as attempts
from bertlab.lab import plan, scales, studies
from bertlab.store.runs import Store


@pytest.mark.parametrize(
    ("error", "place", "reason"),
    [
        (ValueError(), "mine.py, line 3", "ValueError (mine.py, line 3)"),
        (ValueError("too\nlong"), "mine.py, line 3", "ValueError: too long (mine.py, line 3)"),
        (ValueError(), "", "ValueError"),
        (ValueError("too long"), "", "too long"),
    ],
)
def test_the_reason_names_an_error_once(tmp_path, machine, monkeypatch, error, place, reason):
    def fail(work, progress):
        raise error

    job = plan.make(plan.Request(studies=(studies.find("masking"),), scale=scales.find("smoke")), machine).jobs[0]
    store = Store(tmp_path / "runs")
    store.prepare()
    monkeypatch.setattr(attempts, "place_of", lambda error: place)
    ended = attempts.attempt(job, store, machine, run=fail)
    assert (ended.status, ended.reason) == ("failed", reason)
