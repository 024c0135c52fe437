"""How an error of a job becomes the reason of its failure."""

import errno
import os

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


def test_a_full_disk_keeps_nothing_of_a_text_that_is_prepared(tmp_path, machine):
    def fill(work, progress):
        (work / "tokens.bin").write_bytes(b"0" * 100)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    job = plan.make(plan.Request(studies=(studies.find("masking"),), scale=scales.find("smoke")), machine).jobs[0]
    store = Store(tmp_path / "runs")
    store.prepare()
    ended = attempts.attempt(job, store, machine, run=fill)
    assert ended.status == "refused"
    assert "No space left on device" in ended.reason
    assert not list((store.root / "corpus").iterdir())
