"""A fine-tuning that is stopped goes on to the same bits, from its newest checkpoint."""

import dataclasses

import pytest
import torch

from bertlab import progress as signals
from bertlab.adaptation import Adapters, Features, FineTuning, GradualUnfreezing, LoRA
from bertlab.errors import RunFailed
from bertlab.progress import Interrupted, silent
from bertlab.training import callbacks, checkpoints
from bertlab.training.finetuning import FinetuningModule, finetune

SETTING = {"batch_size": 16, "epochs": 1, "peak_lr": 1e-3, "length": 32}


@pytest.fixture
def finetuned(pretrained, machine):
    def run(data, adaptation, progress=silent, work=None, **more):
        seeds = {"seed": 0, "finetune_seed": 0}
        return finetune(
            pretrained, data, adaptation, **seeds, machine=machine, progress=progress, keep=True, work=work, **more
        )

    return run


@pytest.mark.parametrize(
    ("adaptation", "before"),
    [
        (FineTuning(**SETTING), False),
        (FineTuning(**SETTING), True),
        (GradualUnfreezing(**SETTING | {"epochs": 3}, max_train_examples=128), False),
        (LoRA(**SETTING, rank=2), False),
        (Adapters(**SETTING, bottleneck=4), False),
    ],
    ids=["all weights", "after another task", "one layer after another", "lora", "adapters"],
)
def test_stopped_and_resumed_equals_never_stopped(finetuned, pairs, tmp_path, monkeypatch, adaptation, before):
    """To the bit, with dropout on, also when it is stopped again and again, and in both trainings; no step twice."""
    monkeypatch.setattr(signals, "_received", [])
    first = {"intermediate_task": dataclasses.replace(pairs, name="first")} if before else {}
    tasks = [*(["first"] if before else []), "pairs"]
    stops, steps = [(f"{adaptation.stage} {task}", done) for task in tasks for done in (1, 13)], []

    def ask(done, total, stage="", /, **figures):
        steps.append((stage, done))
        if (stage, done) in stops:
            signals._received.append(2)

    whole = finetuned(pairs, adaptation, **first)
    for _ in stops:
        with pytest.raises(Interrupted):
            finetuned(pairs, adaptation, ask, tmp_path, **first)
        signals._received.clear()
    again = finetuned(pairs, adaptation, ask, tmp_path, **first)
    assert len(steps) == len({*steps}) == len(tasks) * again.steps
    assert (again.curve, again.metrics) == (whole.curve, whole.metrics)
    assert all(torch.equal(value, again.changes[name]) for name, value in whole.changes.items())


def test_features_resume_too(finetuned, entities, tmp_path, monkeypatch):
    monkeypatch.setattr(signals, "_received", [])
    adaptation = Features(**SETTING, layers="last", lstm_size=4)

    def ask(done, total, stage="", /, **figures):
        signals._received.extend([2] * (stage.startswith("training on features") and done == 5))

    whole = finetuned(entities, adaptation)
    with pytest.raises(Interrupted):
        finetuned(entities, adaptation, ask, tmp_path)
    signals._received.clear()
    assert checkpoints.newest(tmp_path).step == 5
    again = finetuned(entities, adaptation, silent, tmp_path)
    assert (again.curve, again.metrics) == (whole.curve, whole.metrics)


def test_what_a_killed_process_had_saved_is_used(finetuned, pairs, tmp_path, monkeypatch):
    """A process that ends without a word has the checkpoints of the clock."""
    monkeypatch.setattr(callbacks, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(callbacks, "SHARE_OF_CHECKPOINTS", 1e9)
    adaptation, step, trained = FineTuning(**SETTING), FinetuningModule.training_step, []

    def dies(self, batch, batch_idx):
        if self.global_step == 7:
            raise RunFailed("killed")
        return step(self, batch, batch_idx)

    monkeypatch.setattr(FinetuningModule, "training_step", dies)
    with pytest.raises(RunFailed):
        finetuned(pairs, adaptation, silent, tmp_path)
    assert checkpoints.newest(tmp_path).step == 7
    monkeypatch.setattr(FinetuningModule, "training_step", step)
    again = finetuned(pairs, adaptation, lambda done, *_, **figures: trained.append(done), tmp_path)
    assert trained[0] == 8
    assert again.curve == finetuned(pairs, adaptation).curve
