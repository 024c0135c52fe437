"""Several commands at once on one store, one of them killed: each run is trained once."""

import signal

import pytest


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.faults)])
@pytest.mark.parametrize("fault", ["checkpoint.renamed:2", pytest.param("measure.step:2", marks=pytest.mark.faults)])
def test_each_run_is_trained_once(warm, undisturbed, same_end, tmp_path, count, fault):
    runs, record = tmp_path / "runs", tmp_path / "points"
    ended = warm.at_once(
        warm.command(runs, faults=f"record:{record},{fault}:kill"),
        *[warm.command(runs, faults=f"record:{record}")] * (count - 1),
    )
    assert ended[0].status in (-signal.SIGKILL, 1)  # another may have been faster
    assert [each.status for each in ended[1:]] == [1] * (count - 1), ended[1].printed
    passed = record.read_text().split()
    for name in ("finish.renamed", "model.done"):
        assert passed.count(name) == undisturbed.points.count(name), name
    same_end(runs)
