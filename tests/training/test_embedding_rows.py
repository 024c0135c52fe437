"""A training of the rows that a task reads is one of all rows."""

import dataclasses

import numpy as np
import pytest
import torch

from bertlab import recipe
from bertlab.adaptation import FineTuning, GradualUnfreezing
from bertlab.model.encoder import BertEncoder
from bertlab.model.streams import TensorBatch
from bertlab.optimizers import LAMB, AdamW
from bertlab.progress import Interrupted, silent
from bertlab.training import embedding_rows
from bertlab.training.finetuning import finetune
from bertlab.training.module import build, clip

VOCABULARY = 40
READ = np.array([0, 3, 4, 9, 20])


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(embedding_rows, "MANY", 1)


def trained(settings, steps, only, freeze=lambda step: False):
    """The token embeddings after some updates of all weights, in float64."""
    torch.manual_seed(0)
    model = BertEncoder(recipe.Model(layers=1, hidden=16, heads=2, dropout=0.0), VOCABULARY, 8).double()
    whole = model.embeddings.tokens.weight
    with embedding_rows.only(model, [lambda: READ[:3], lambda: READ[2:]] if only else []):
        table = model.embeddings.tokens
        assert table.weight.shape[0] == (len(READ) + 1 if only else VOCABULARY)
        optimizer = build(model, settings)
        draw = np.random.default_rng(1)
        for step in range(steps):
            tokens = torch.from_numpy(READ[draw.integers(0, 1 + step % len(READ), (3, 6))])
            table.weight.requires_grad_(not freeze(step))
            out = model(TensorBatch.of(tokens))
            (out * torch.from_numpy(draw.normal(size=out.shape))).sum().backward()
            clip(optimizer, settings.max_grad_norm, torch.zeros(()))
            for group in optimizer.param_groups:
                group["lr"] = 0.01 * (step + 1)
            optimizer.step()
            optimizer.zero_grad()
    assert model.embeddings.tokens.weight is whole
    return whole.detach()


@pytest.mark.parametrize("bias_correction", [True, False])
@pytest.mark.parametrize("freeze", [lambda step: False, lambda step: step < 4], ids=["trained", "at first frozen"])
def test_rows_end_as_those_of_a_training_of_all_rows(small, monkeypatch, bias_correction, freeze):
    settings = AdamW(weight_decay=0.3, bias_correction=bias_correction)
    rows = trained(settings, 10, True, freeze)
    monkeypatch.setattr(embedding_rows, "MANY", 10**9)
    every = trained(settings, 10, False, freeze)
    torch.testing.assert_close(rows, every, rtol=1e-9, atol=1e-12)
    torch.manual_seed(0)
    start = BertEncoder(recipe.Model(layers=1, hidden=16, heads=2, dropout=0.0), VOCABULARY, 8).double()
    unread = np.setdiff1d(np.arange(VOCABULARY), READ)
    before = start.embeddings.tokens.weight[unread].detach()
    decays = np.prod([1 - 0.3 * 0.01 * (step + 1) for step in range(10) if not freeze(step)])
    torch.testing.assert_close(rows[unread], decays * before)


def test_a_token_that_was_not_to_be_read_is_refused_and_weights_come_back(small):
    model = BertEncoder(recipe.Model(layers=1, hidden=16, heads=2, dropout=0.0), VOCABULARY, 8)
    whole = model.embeddings.tokens.weight
    before = whole.detach().clone()
    with pytest.raises(IndexError), embedding_rows.only(model, [lambda: READ]):
        model(TensorBatch.of(torch.tensor([[0, 5]])))
    assert model.embeddings.tokens.weight is whole
    assert torch.equal(whole, before)
    model(TensorBatch.of(torch.tensor([[0, 5]])))


SETTING = FineTuning(batch_size=16, epochs=2, peak_lr=3e-3, length=32, weight_decay=0.1)


@pytest.fixture
def finetuned(pretrained, machine):
    def run(data, adaptation, progress=silent, work=None):
        seeds = {"seed": 0, "finetune_seed": 0}
        return finetune(pretrained, data, adaptation, **seeds, machine=machine, progress=progress, keep=True, work=work)

    return run


def test_a_fine_tuning_is_that_of_all_rows(finetuned, pairs, monkeypatch):
    whole = finetuned(pairs, SETTING)
    monkeypatch.setattr(embedding_rows, "MANY", 1)
    rows = finetuned(pairs, SETTING)
    assert whole.trained_parameters == rows.trained_parameters
    assert [*whole.changes] == [*rows.changes]
    for point, other in zip(whole.curve, rows.curve, strict=True):
        assert point == pytest.approx(other, rel=1e-3)
    table = "encoder.embeddings.tokens.weight"
    torch.testing.assert_close(rows.changes[table], whole.changes[table], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "adaptation",
    [SETTING, GradualUnfreezing(batch_size=16, epochs=2, length=32), dataclasses.replace(SETTING, optimizer=LAMB())],
    ids=["fine-tuning", "gradual unfreezing", "lamb"],
)
def test_stopped_and_resumed_equals_never_stopped(finetuned, pairs, tmp_path, monkeypatch, small, adaptation):
    from bertlab import progress as signals

    monkeypatch.setattr(signals, "_received", [])
    whole = finetuned(pairs, adaptation)

    def ask(done, total, stage="", /, **figures):
        if done == 13:
            signals._received.append(2)

    with pytest.raises(Interrupted):
        finetuned(pairs, adaptation, ask, tmp_path)
    signals._received.clear()
    again = finetuned(pairs, adaptation, work=tmp_path)
    assert (again.curve, again.metrics) == (whole.curve, whole.metrics)
    assert all(torch.equal(value, again.changes[name]) for name, value in whole.changes.items())
