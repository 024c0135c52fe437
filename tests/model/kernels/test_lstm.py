"""The recurrence of an LSTM on the CPU, beside torch's."""

import pytest
import torch

from bertlab.model.bilstm import ProjectedLSTM

pytestmark = pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")


def both(dtype):
    torch.manual_seed(0)
    layer = ProjectedLSTM(6, 10).to(dtype)
    reference = torch.nn.LSTM(6, 10, batch_first=True, proj_size=6).to(dtype)
    reference.load_state_dict(layer.state_dict())
    return layer, reference, torch.randn(3, 7, 6, dtype=dtype)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_outputs_and_all_gradients_are_torchs(dtype, tolerance):
    layer, reference, x = both(dtype)
    weights, inputs = torch.randn(3, 7, 6, dtype=dtype), [x.clone().requires_grad_() for _ in range(2)]
    outputs = layer(inputs[0]), reference(inputs[1])[0]
    torch.testing.assert_close(*outputs, rtol=0, atol=tolerance)
    for out in outputs:
        (out * weights).sum().backward()
    torch.testing.assert_close(inputs[0].grad, inputs[1].grad, rtol=0, atol=tolerance)
    for one, other in zip(layer.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=0, atol=10 * tolerance)


def test_gradients_of_a_single_token():
    layer, _, x = both(torch.float64)
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x[:, :1].clone().requires_grad_(), *layer.parameters()))


def test_under_autocast_the_recurrence_is_in_full_precision():
    layer, reference, x = both(torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        out = layer(x)
    assert out.dtype == torch.float32
    torch.testing.assert_close(out, reference(x)[0], rtol=0, atol=0.05)
    out.sum().backward()
    assert all(value.grad.dtype == torch.float32 for value in layer.parameters())
