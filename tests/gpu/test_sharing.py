"""Runs that share a GPU, beside the same runs one after the other."""

import subprocess
import sys

import pytest

from bertlab.store.runs import Store

pytestmark = pytest.mark.gpu
STUDY = ("masking", "--scale", "smoke", "--measure", "MNLI fine-tuned", "--only", "80/10/10", "--only", "100/0/0")


@pytest.fixture
def trained(tmp_path):
    def pretrained(name, *options):
        command = [
            sys.executable,
            "-m",
            "bertlab",
            "ablate",
            *STUDY,
            "--gpus",
            "1",
            *options,
            "--runs",
            str(tmp_path / name),
        ]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return {run.id: run for run in Store(tmp_path / name).runs() if run.kind in ("pretrain", "finetune")}

    return pretrained


def test_runs_that_share_a_gpu_are_those_of_one_process(trained, dry):
    if dry:
        pytest.skip("runs on the CPU share nothing")
    alone, sharing = trained("alone"), trained("sharing", "--runs-per-gpu", "3")
    assert alone.keys() == sharing.keys()
    assert len(alone) == 4
    for name, run in alone.items():
        assert run.environment().numerics == sharing[name].environment().numerics
        if run.kind == "pretrain":
            wanted, found = run.result().heldout, sharing[name].result().heldout
            assert found == pytest.approx(wanted, rel=0.01, abs=0.01)
