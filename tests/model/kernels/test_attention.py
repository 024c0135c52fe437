"""Kernels: attention by matrix products against torch's own, dropout from few random bits against its definition."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertlab import recipe
from bertlab.adaptation import FineTuning
from bertlab.model.attention import padding_bias
from bertlab.model.heads import PretrainingModel
from bertlab.model.kernels.attention import SHORT, attention, by_products, fused
from bertlab.model.kernels.dropout import LEVELS, Dropout, by_few_bits
from bertlab.tasks.kinds import KINDS

BATCH, HEADS, TOKENS, SIZE = 3, 2, 12, 8


def inputs(tokens=TOKENS, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    shape = (BATCH, HEADS, tokens, SIZE)
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for _ in range(3)]


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5), (torch.bfloat16, 3e-2)]
)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("case", ["whole", "padded", "by head", "by sequence", "some queries"])
def test_products_equal_the_fused_kernel_in_values_and_gradients(case, causal, dtype, tolerance):
    query, key, value = inputs(dtype=dtype)
    bias = {
        "padded": padding_bias(torch.tensor([12, 5, 8]), TOKENS, dtype),
        "by head": torch.linspace(-3, 3, HEADS * TOKENS**2, dtype=dtype).view(1, HEADS, TOKENS, TOKENS),
        "by sequence": torch.linspace(-3, 3, BATCH * TOKENS**2, dtype=dtype).view(BATCH, 1, TOKENS, TOKENS),
    }.get(case)
    if case == "some queries":
        query, causal = query[:, :, 3:7], False
    results = []
    for out in (way(query, key, value, bias, causal=causal) for way in (by_products, fused)):
        assert out.dtype == dtype
        weighted = (out.double() * torch.linspace(-1, 1, out.numel()).view_as(out)).sum()
        results.append((out, *torch.autograd.grad(weighted, (query, key, value))))
    torch.testing.assert_close(results[0], results[1], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("way", [by_products, fused])
def test_a_bias_and_the_causal_mask_both_hold(way):
    """Where all scores are equal, a token's output is the mean of those it sees: of its last two, here."""
    query, key, value = torch.zeros(1, 1, 3, 1), torch.zeros(1, 1, 3, 1), torch.tensor([[[[1.0], [2.0], [6.0]]]])
    near = torch.zeros(1, 1, 3, 3)
    near[..., 0, 2] = near[..., 2, 0] = -torch.inf
    assert way(query, key, value, near).flatten().tolist() == [1.5, 3.0, 4.0]
    assert way(query, key, value, None, causal=True).flatten().tolist() == [1.0, 1.5, 3.0]
    assert way(query, key, value, near, causal=True).flatten().tolist() == [1.0, 1.5, 4.0]


def test_a_bias_of_another_type_takes_that_of_the_queries():
    query, key, value = inputs(dtype=torch.bfloat16)
    bias = torch.linspace(-1, 1, TOKENS)[None, None, None]
    assert torch.equal(attention(query, key, value, bias), attention(query, key, value, bias.bfloat16()))


def test_dropout_drops_probabilities_and_keeps_the_mean():
    query, key, _ = inputs()
    value = torch.eye(TOKENS).expand(BATCH, HEADS, -1, -1)  # the output is the probabilities
    torch.manual_seed(0)
    plain = by_products(query, key, value, None)
    drawn = torch.stack([by_products(query, key, value, None, dropout=0.3) for _ in range(400)])
    assert (drawn == 0).float().mean().item() == pytest.approx(0.3, abs=0.01)
    torch.testing.assert_close(drawn.mean(0), plain, rtol=0, atol=0.08)


def test_long_sequences_go_through_the_fused_kernel_unless_they_have_dropout(monkeypatch):
    taken = []
    module = "bertlab.model.kernels.attention"
    monkeypatch.setattr(f"{module}.fused", lambda *_, **__: taken.append("fused"))
    monkeypatch.setattr(f"{module}.by_products", lambda *_, **__: taken.append("products"))
    for tokens, dropout in ((SHORT, 0.0), (SHORT + 1, 0.0), (SHORT + 1, 0.1)):
        attention(*inputs(tokens), None, dropout=dropout)
    assert taken == ["products", "fused", "products"]


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
