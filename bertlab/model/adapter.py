"""Bottleneck adapters between the sub-layers of an encoder (Houlsby et al. 2019, section 2.1)."""

import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.errors import BadInput
from bertlab.model.backbone import Backbone
from bertlab.model.initial import initialise
from bertlab.model.layers import Block

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


def add_adapters(encoder: Backbone, bottleneck: int, seed: int) -> None:
    """Puts two new adapters into each block of `encoder`, in place; their weights start from `seed`.

    As in the released code, the input of an adapter is its sub-layer's output after dropout, before the residual.
    Raises `BadInput` for an encoder without blocks.
    """
    blocks = [module for module in encoder.modules() if isinstance(module, Block)]
    if not blocks:
        raise BadInput(
            "adapters stand in the blocks of a transformer, and this encoder has none: use another adaptation"
        )
    widths = [block.attention.out_proj.out_features for block in blocks for _ in range(2)]
    adapters = nn.ModuleList(Adapter(width, bottleneck) for width in widths)
    initialise(adapters, ADAPTER_STD, seed)
    for block, of_attention, of_mlp in zip(blocks, adapters[::2], adapters[1::2], strict=True):
        block.attention_output, block.mlp_output = of_attention, of_mlp
