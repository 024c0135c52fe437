"""Bottleneck adapters between the sub-layers of a transformer (Houlsby et al. 2019, section 2.1)."""

from typing import Literal

from torch import Tensor, nn

from bertlab.errors import BadInput
from bertlab.model.backbone import Backbone
from bertlab.model.initial import initialise
from bertlab.model.layers import Block

ADAPTER_STD = 1e-2
"""Standard deviation of the initial weights, truncated at two of them: near the identity."""


class Adapter(nn.Module):
    """A bottleneck with a skip connection: x + up(GELU(down(x))) (Houlsby et al. 2019, section 2.1), or with ReLU."""

    def __init__(self, hidden: int, bottleneck: int, activation: Literal["gelu", "relu"] = "gelu") -> None:
        super().__init__()
        self.activation = nn.GELU() if activation == "gelu" else nn.ReLU()
        self.down = nn.Linear(hidden, bottleneck)
        self.up = nn.Linear(bottleneck, hidden)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        out: Tensor = x + self.up(self.activation(self.down(x)))
        return out


def add_adapters(
    encoder: Backbone,
    bottleneck: int,
    seed: int,
    after: Literal["both", "feed-forward"] = "both",
    activation: Literal["gelu", "relu"] = "gelu",
) -> None:
    """Puts new adapters into each block of `encoder`, in place: behind the self-attention and the feed-forward network,
    or only behind the latter. Their weights start from `seed`.

    As in the released code, the input of an adapter is its sub-layer's output after dropout, before the residual.
    Raises `BadInput` for an encoder without blocks.
    """
    blocks = [module for module in encoder.modules() if isinstance(module, Block)]
    if not blocks:
        raise BadInput(
            "adapters stand in the blocks of a transformer, and this encoder has none: use another adaptation"
        )
    names = ("attention_output", "mlp_output") if after == "both" else ("mlp_output",)
    places = [(block, name) for block in blocks for name in names]
    widths = (block.attention.out_proj.out_features for block, _ in places)
    adapters = nn.ModuleList(Adapter(width, bottleneck, activation) for width in widths)
    initialise(adapters, ADAPTER_STD, seed)
    for (block, name), adapter in zip(places, adapters, strict=True):
        setattr(block, name, adapter)
