"""The recurrence of an LSTM with a projection (Sak et al. 2014), which oneDNN lacks: for the CPU.

The gradients of the weights are one product over all tokens, where autograd has one for each.

Shapes: T tokens, B batch, C cells, P projected.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class Recurrence(torch.autograd.Function):
    """Gates from the inputs (T, B, 4 C), the recurrent matrix (4 C, P) and the projection (P, C) -> outputs (T, B, P).

    The gates are in torch's order: input, forget, cell, output. The first state is zero.
    """

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx: Any, gates: Tensor, recurrent: Tensor, projection: Tensor) -> Tensor:
        """Computes one token after the other."""
        steps, batch, _ = gates.shape
        width, size = projection.shape
        gates, cells = gates.contiguous().clone(), gates.new_zeros(steps + 1, batch, size)
        hidden, outputs = gates.new_empty(steps, batch, size), gates.new_zeros(steps + 1, batch, width)
        for step in range(steps):
            gates[step].addmm_(outputs[step], recurrent.t())
            gates[step, :, : 2 * size].sigmoid_()
            gates[step, :, 2 * size : 3 * size].tanh_()
            gates[step, :, 3 * size :].sigmoid_()
            enter, keep, value, leave = gates[step].chunk(4, 1)
            torch.mul(keep, cells[step], out=cells[step + 1]).addcmul_(enter, value)
            torch.tanh(cells[step + 1], out=hidden[step]).mul_(leave)
            torch.mm(hidden[step], projection.t(), out=outputs[step + 1])
        ctx.save_for_backward(gates, cells, hidden, outputs, recurrent, projection)
        return outputs[1:]

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    @once_differentiable
    def backward(ctx: Any, of_outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # type: ignore[override]
        """Computes one token after the other, from the last one back."""
        gates, cells, hidden, outputs, recurrent, projection = ctx.saved_tensors
        steps, batch, size = hidden.shape
        recurrent, projection = (matrix.t().contiguous().t() for matrix in (recurrent, projection))  # faster products
        enter, keep, value, leave = gates.chunk(4, 2)
        squashed = cells[1:].tanh()
        # What a gate's input changes, times the gradient of the cell, or for the output gate of the hidden state.
        slopes = torch.empty_like(gates)
        torch.mul(value * enter, 1 - enter, out=slopes[..., :size])
        torch.mul(cells[:-1] * keep, 1 - keep, out=slopes[..., size : 2 * size])
        torch.mul(enter, 1 - value.square(), out=slopes[..., 2 * size : 3 * size])
        torch.mul(squashed * leave, 1 - leave, out=slopes[..., 3 * size :])
        through = leave * (1 - squashed.square())
        of_outputs, of_cell = of_outputs.clone(), gates.new_zeros(batch, size)
        for step in reversed(range(steps)):
            if step < steps - 1:
                of_outputs[step].addmm_(slopes[step + 1], recurrent)
            of_hidden = of_outputs[step] @ projection
            of_cell.addcmul_(of_hidden, through[step])
            slopes[step, :, : 3 * size].view(batch, 3, size).mul_(of_cell[:, None])
            slopes[step, :, 3 * size :].mul_(of_hidden)
            of_cell.mul_(keep[step])
        of_recurrent = slopes.flatten(0, 1).t() @ outputs[:-1].flatten(0, 1)
        return slopes, of_recurrent, of_outputs.flatten(0, 1).t() @ hidden.flatten(0, 1)
