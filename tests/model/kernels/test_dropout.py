"""Dropout from few random bits, against its definition."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab import recipe
from bertlab.adaptation import FineTuning
from bertlab.model.heads import PretrainingModel
from bertlab.model.kernels.dropout import LEVELS, Dropout, by_few_bits
from bertlab.tasks.kinds import KINDS


@pytest.mark.parametrize("probability", [0.01, 0.1, 0.5, 0.9, 0.99])
def test_each_entry_is_dropped_with_the_probability_and_the_mean_stays(probability):
    """Within five standard deviations, over all entries and over those that one of the four parts of a word decides."""
    torch.manual_seed(3)
    out = by_few_bits(torch.ones(4 * 200_001), probability).double()
    for part in (out, *out.view(-1, 4).T):
        deviation = (probability * (1 - probability) / len(part)) ** 0.5
        assert float((part == 0).double().mean()) == pytest.approx(probability, abs=5 * deviation + 1 / LEVELS)
        assert float(part.mean()) == pytest.approx(1, abs=5 * deviation / (1 - probability))


def test_entries_are_dropped_independently_of_their_neighbours():
    torch.manual_seed(4)
    dropped = (by_few_bits(torch.ones(400_000), 0.5) == 0).double()
    for distance in range(1, 9):
        both = float((dropped[:-distance] * dropped[distance:]).mean())
        assert both == pytest.approx(0.25, abs=5 * (0.25 * 0.75 / 400_000) ** 0.5)


@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=3), st.sampled_from([torch.float64, torch.float32, torch.bfloat16])
)
def test_what_is_kept_is_scaled_and_its_gradient_is_that_of_the_scale(shape, dtype):
    x = torch.linspace(1, 2, torch.Size(shape).numel(), dtype=dtype).view(shape).requires_grad_()
    torch.manual_seed(5)
    out = by_few_bits(x, 0.25)
    assert (out.shape, out.dtype) == (x.shape, dtype)
    out.sum().backward()
    scale = torch.tensor(4 / 3, dtype=dtype)
    assert set(x.grad.unique().tolist()) <= {0.0, float(scale)}
    assert torch.equal(out, x * x.grad)
    torch.manual_seed(5)
    assert torch.equal(by_few_bits(x, 0.25), out), "the seed decides"


def test_all_or_nothing_may_be_dropped():
    x = torch.randn(100)
    assert torch.equal(by_few_bits(x, 0.0), x)
    assert not by_few_bits(x, 1.0).any()


def test_pre_training_keeps_torchs_dropout_and_a_task_has_the_faster_one():
    model = PretrainingModel(recipe.Model(layers=1, hidden=16, heads=2, dropout=0.1), 50, 16, seed=0)
    drops = [module for module in model.modules() if isinstance(module, torch.nn.Dropout)]
    assert {module.draw for module in drops} == {torch.nn.functional.dropout}
    task = FineTuning().adapt(model, KINDS["classification"], ("a", "b"), ("head",))
    assert {module.draw for module in task.modules() if isinstance(module, Dropout)} == {by_few_bits}
    assert {module.p for module in drops} == {0.1}


def test_without_training_nothing_is_dropped():
    x = torch.randn(100)
    assert torch.equal(Dropout(0.5).eval()(x), x)
