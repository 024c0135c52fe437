"""Attention by matrix products against torch's own."""

import pytest
import torch

from bertlab.model.kernels.attention import SHORT, attention, by_products, fused
from bertlab.model.layers import causal_bias, padding_bias

BATCH, HEADS, TOKENS, SIZE = 3, 2, 12, 8


def inputs(tokens=TOKENS, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    shape = (BATCH, HEADS, tokens, SIZE)
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for _ in range(3)]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 3e-2)])
@pytest.mark.parametrize("case", ["whole", "padded", "causal", "some queries"])
def test_products_equal_the_fused_kernel_in_values_and_gradients(case, dtype, tolerance):
    query, key, value = inputs(dtype=dtype)
    bias = {
        "padded": padding_bias(torch.tensor([12, 5, 8]), TOKENS, dtype),
        "causal": causal_bias(TOKENS, query.detach()),
    }.get(case)
    read = query[:, :, 3:7] if case == "some queries" else query
    results = []
    for out in (by_products(read, key, value, bias), fused(read, key, value, bias, causal=case == "causal")):
        assert out.dtype == dtype
        weighted = (out.float() * torch.linspace(-1, 1, out.numel()).view_as(out)).sum()
        results.append((out, *torch.autograd.grad(weighted, (query, key, value))))
    torch.testing.assert_close(results[0], results[1], rtol=tolerance, atol=tolerance)


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
