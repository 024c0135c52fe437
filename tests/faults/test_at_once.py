"""Several commands at once on one store, one of them killed: each run is trained once."""

import signal

import pytest

CHECKPOINT = "runs/KIND/.#.work/checkpoint/.part"


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.faults)])
@pytest.mark.parametrize(
    "fault", [f"rename {CHECKPOINT}:2", pytest.param("step fine-tuning long:2", marks=pytest.mark.faults)]
)
def test_each_run_is_trained_once(warm, undisturbed, same_end, tmp_path, count, fault):
    runs, record = tmp_path / "runs", tmp_path.with_name(f"{tmp_path.name}-places")
    ended = warm.at_once(
        warm.command(runs, faults=f"record:{record},{fault}:kill"),
        *[warm.command(runs, faults=f"record:{record}")] * (count - 1),
    )
    assert ended[0].status in (-signal.SIGKILL, 1)  # another may have been faster
    assert [each.status for each in ended[1:]] == [1] * (count - 1), ended[1].printed
    passed = record.read_text().splitlines()
    for name in ("rename runs/KIND/.#.work", "write runs/KIND/.#.work/model.safetensors"):
        assert passed.count(name) == undisturbed.places.count(name) > 0, name
    same_end(runs)
