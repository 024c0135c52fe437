"""A training of one process in a job of a cluster, whose variables speak of other processes."""

import os
import subprocess
import sys

import pytest
import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities import rank_zero_only

from bertlab.execution import environment
from bertlab.training.trainer import quiet, trainer

JOBS = {
    "slurm": {
        "SLURM_NTASKS": "4",
        "SLURM_JOB_NAME": "x",
        "SLURM_JOB_ID": "7",
        "SLURM_PROCID": "3",
        "SLURM_LOCALID": "3",
    },
    "slurm, odd": {"SLURM_NTASKS": "x", "SLURM_JOB_NAME": "x", "SLURM_PROCID": "x", "SLURM_NTASKS_PER_NODE": "-1"},
    "slurm, bash": {"SLURM_NTASKS": "4", "SLURM_JOB_NAME": "bash", "SLURM_PROCID": "0"},
    "lsf": {
        "LSB_JOBID": "1",
        "LSB_DJOB_RANKFILE": "/no/where",
        "JSM_NAMESPACE_LOCAL_RANK": "1",
        "JSM_NAMESPACE_SIZE": "4",
        "JSM_NAMESPACE_RANK": "1",
    },
    "torchrun": {
        "TORCHELASTIC_RUN_ID": "a",
        "RANK": "3",
        "LOCAL_RANK": "3",
        "GROUP_RANK": "0",
        "WORLD_SIZE": "4",
        "MASTER_ADDR": "no.where",
        "MASTER_PORT": "1",
    },
    "kubeflow": {
        "KUBERNETES_PORT": "tcp://127.0.0.1:443",
        "MASTER_ADDR": "no.where",
        "MASTER_PORT": "x",
        "WORLD_SIZE": "4",
        "RANK": "1",
    },
    "garbage": {"LOCAL_RANK": "x", "WORLD_SIZE": "x", "RANK": "", "NODE_RANK": "x", "MASTER_PORT": "x"},
}


class Line(LightningModule):
    """One weight, and how often a process that is the first of its group saw a step."""

    def __init__(self):
        super().__init__()
        self.weight, self.first = torch.nn.Parameter(torch.zeros(1)), 0

    def training_step(self, batch):
        rank_zero_only(self.see)()
        return (self.weight - batch).square().sum()

    def see(self):
        self.first += 1

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


@pytest.mark.parametrize("job", JOBS)
def test_a_training_of_one_process_is_alone_in_any_job(machine, monkeypatch, job):
    for name, text in JOBS[job].items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(rank_zero_only, "rank", 3)  # what Lightning reads when it is imported in such a job
    made, module = trainer(machine, 3), Line()
    with quiet():
        made.fit(module, torch.utils.data.DataLoader(torch.ones(8)))
    assert (made.global_rank, made.world_size, made.global_step, module.first) == (0, 1, 3, 3)
    assert module.weight.item() == pytest.approx(1 - 0.8**3)


@pytest.mark.parametrize("job", ["slurm, odd", "garbage"])
def test_a_command_imports_lightning_in_any_job(job):
    code = (
        "from bertlab.execution.environment import set_up; set_up(); from lightning.fabric.utilities import rank_zero"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | JOBS[job], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(JOBS[job]) & set(environment.NUMBERS)
