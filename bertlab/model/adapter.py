"""Bottleneck adapters between the sub-layers of an encoder (Houlsby et al. 2019, section 2.1)."""

import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.model.encoder import Stack
from bertlab.model.initial import initialise

ADAPTER_STD = 1e-2
"""Standard deviation of the initial weights, truncated at two of them: near the identity."""


class Adapter(nn.Module):
    """A bottleneck with a skip connection: x + up(GELU(down(x))) (Houlsby et al. 2019, section 2.1)."""

    def __init__(self, hidden: int, bottleneck: int) -> None:
        super().__init__()
        self.down = nn.Linear(hidden, bottleneck)
        self.up = nn.Linear(bottleneck, hidden)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        out: Tensor = x + self.up(F.gelu(self.down(x)))
        return out


def add_adapters(encoder: Stack, bottleneck: int, seed: int) -> None:
    """Puts two new adapters into each layer of `encoder`, in place; their weights start from `seed`.

    As in the released code, the input of an adapter is its sub-layer's output after dropout, before the residual.
    """
    adapters = nn.ModuleList(Adapter(encoder.hidden_size, bottleneck) for _ in range(2 * encoder.num_layers))
    initialise(adapters, ADAPTER_STD, seed)
    for layer, of_attention, of_mlp in zip(encoder.layers, adapters[::2], adapters[1::2], strict=True):
        layer.attention_output, layer.mlp_output = of_attention, of_mlp
