"""Every kind of task on a GPU beside the CPU: the losses of a fine-tuning and the scores that it ends with."""

import dataclasses

import numpy as np
import pytest
from scipy.special import log_softmax

from bertlab.adaptation import Features, FineTuning
from bertlab.progress import silent
from bertlab.training import finetuning
from bertlab.training.finetuning import EvalResult

pytestmark = pytest.mark.gpu

KINDS = ("pairs", "scores", "questions", "choices", "entities")
"""Classification, regression, spans, multiple choice, tagging."""
SETTINGS = FineTuning(batch_size=16, max_steps=10, peak_lr=1e-3, length=32, dropout=0.0)
FEATURES = Features(batch_size=16, max_steps=10, peak_lr=1e-3, length=32, dropout=0.0)


def unjudged(data, raw, train, part, scores, threshold=None):
    """The scores in place of metrics, which need packages that a device machine may lack."""
    return EvalResult(examples=len(scores), metrics={}, majority={}, predictions={"scores": scores}, collapsed=False)


@pytest.fixture
def measure(still, request, monkeypatch):
    """The curve of a measurement on a machine, and the log-probabilities, or values, of the evaluation examples."""

    def measured(data, settings, machine):
        monkeypatch.setattr(finetuning, "evaluate", unjudged)
        monkeypatch.setattr(finetuning, "exchanged", lambda data, raw: None)
        task = request.getfixturevalue(data)
        found = finetuning.finetune(still, task, settings, seed=0, finetune_seed=0, machine=machine, progress=silent)
        scores = found.predictions["scores"]
        # A shift of all logits that a softmax compares, as by the bias of a single output, has no gradient but rounding
        # errors, which Adam makes as large as any other: only their differences are learnt.
        return found.curve, scores if task.kind == "regression" else log_softmax(scores, -1)

    return measured


def same_losses(wanted, found, tolerance):
    assert len(wanted[0]) == len(found[0]) == 10
    for one, two in zip(wanted[0], found[0], strict=True):
        assert two == pytest.approx(one, rel=tolerance)


def same(wanted, found, tolerance=1e-4):
    """Losses and log-probabilities; some rows have fewer of these than others."""
    same_losses(wanted, found, tolerance)
    there = np.isfinite(wanted[1])
    assert (np.isfinite(found[1]) == there).all()
    scale = float(np.abs(wanted[1][there]).max())
    np.testing.assert_allclose(found[1][there], wanted[1][there], rtol=0.0, atol=tolerance * scale)


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_is_learnt_as_on_the_cpu(measure, cpu, card, kind):
    wanted = measure(kind, SETTINGS, cpu)
    same(wanted, measure(kind, SETTINGS, card()))


@pytest.mark.parametrize("changed", [{"frozen": True, "bilstm": True}, {"layer_decay": 0.8}])
def test_other_ways_to_fine_tune_are_as_on_the_cpu(measure, cpu, card, changed):
    settings = dataclasses.replace(SETTINGS, **changed)
    wanted = measure("pairs", settings, cpu)
    same(wanted, measure("pairs", settings, card()))


@pytest.mark.parametrize("summed", [False, True])
def test_features_are_learnt_as_on_the_cpu(measure, cpu, card, summed):
    settings = dataclasses.replace(FEATURES, layers="sum-all" if summed else FEATURES.layers)
    wanted = measure("entities", settings, cpu)
    same(wanted, measure("entities", settings, card()))


@pytest.mark.parametrize("kind", KINDS)
def test_bf16_is_close(measure, cpu, card, kind):
    wanted = measure(kind, SETTINGS, cpu)
    same_losses(wanted, measure(kind, SETTINGS, card(precision="bf16")), 0.05)
