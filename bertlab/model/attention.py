"""Multi-head scaled dot-product attention (Vaswani et al. 2017, section 3.2): one module for all transformers.

Shapes: B batch, T tokens, K positions of a sequence that are read, D hidden, H heads, d = D / H.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.model.cache import Cache, KeyValues
from bertlab.model.kernels.attention import attention
from bertlab.model.kernels.dropout import Dropout
from bertlab.model.positions import Rotation, rotate, rotation_at


class StackedLinear(nn.Linear):
    """Several linear maps of the same input as one product, which is faster: the matrices are one below another."""

    def __init__(self, inputs: int, outputs: int, count: int, *, bias: bool = True) -> None:
        super().__init__(inputs, count * outputs, bias)
        self.count = count

    def part(self, x: Tensor, first: int, count: int) -> Tensor:
        """(B, T, D) -> (B, T, count outputs): `count` of the maps, from number `first` on."""
        rows = slice(first * self.out_features // self.count, (first + count) * self.out_features // self.count)
        return F.linear(x, self.weight[rows], None if self.bias is None else self.bias[rows])


class Attention(nn.Module):
    """Attention with queries, keys and values of `hidden` features each, over `heads` heads.

    `dropout` acts on the probabilities and on the output. Products are divided by the root of the size of a head, or
    with `divided=False` not (T5).
    """

    def __init__(self, hidden: int, heads: int, dropout: float, *, biases: bool = True, divided: bool = True) -> None:
        super().__init__()
        self.heads = heads
        self.factor = None if divided else (hidden // heads) ** 0.5  # of the query, which undoes the division
        self.qkv_proj = StackedLinear(hidden, hidden, 3, bias=biases)
        self.out_proj = nn.Linear(hidden, hidden, bias=biases)
        self.dropout = Dropout(dropout)  # of attention probabilities
        self.output_dropout = Dropout(dropout)

    def forward(
        self,
        read: Tensor,
        x: Tensor | KeyValues,
        bias: Tensor | None = None,
        rotation: Rotation | None = None,
        positions: Tensor | None = None,
        *,
        causal: bool = False,
        cache: Cache | None = None,
    ) -> Tensor:
        """Attention from `read` to `x` (B, T, D), in the shape of `read`.

        `read` is `x` itself, its vectors at `positions` (B, K), or another sequence (cross-attention, which has neither
        rotary positions nor a causal mask). `bias` (B or 1, H or 1, T or 1, T) is added to the scores of all tokens of
        `x`; with `causal`, each token also sees only itself and those before it.

        In decoding, `x` may be what `project` gives of B sequences, and `read` (B k, 1, D) a token of k sequences for
        each of these; a `cache` has the tokens before `x`, and bias has their columns.
        """
        if isinstance(x, KeyValues):
            rows = read.reshape(len(x.keys), -1, read.shape[-1])
            (query,) = split_heads(self.qkv_proj.part(rows, 0, 1), 1, self.heads)
            return self._mixed(query, x, bias).view(read.shape)
        if read is x:
            query, key, value = split_heads(self.qkv_proj(x), 3, self.heads)
        else:
            (query,) = split_heads(self.qkv_proj.part(read, 0, 1), 1, self.heads)
            key, value = self.project(x)
        if rotation is not None:
            of_query = rotation if positions is None else rotation_at(positions, rotation)
            query, key = rotate(query, of_query), rotate(key, rotation)
        if positions is not None:
            bias, causal = bias_at(positions, bias, causal, x), False
        source = KeyValues(key, value)
        return self._mixed(query, source if cache is None else cache.extended(source), bias, causal)

    def project(self, x: Tensor) -> KeyValues:
        """The keys and values of `x` (B, T, D)."""
        return KeyValues(*split_heads(self.qkv_proj.part(x, 1, 2), 2, self.heads))

    def _mixed(self, query: Tensor, source: KeyValues, bias: Tensor | None, causal: bool = False) -> Tensor:
        """The output (B, K, D) for a query (B, H, K, d)."""
        if self.factor is not None:
            query = query * self.factor
        dropout = self.dropout.p if self.training else 0.0
        mixed = attention(query, *source, bias, causal=causal, dropout=dropout, draw=self.dropout.draw)
        out: Tensor = self.output_dropout(self.out_proj(mixed.transpose(1, 2).flatten(2)))
        return out


def split_heads(x: Tensor, parts: int, heads: int) -> Tensor:
    """(B, T, parts D) -> (parts, B, H, T, d), a view."""
    batch, tokens, width = x.shape
    return x.view(batch, tokens, parts, heads, width // (parts * heads)).permute(2, 0, 3, 1, 4)


def real_tokens(lengths: Tensor, tokens: int) -> Tensor:
    """(B, T): which tokens are no padding."""
    return torch.arange(tokens, device=lengths.device) < lengths[:, None]


def padding_bias(lengths: Tensor | None, tokens: int, dtype: torch.dtype) -> Tensor | None:
    """(B, 1, 1, T): minus infinity on padding, 0 elsewhere; None on the CPU if there is no padding."""
    if lengths is None or (eager_on_cpu(lengths) and bool((lengths >= tokens).all())):
        return None
    padding = ~real_tokens(lengths, tokens)
    bias = torch.zeros(padding.shape, dtype=dtype, device=lengths.device)
    return bias.masked_fill_(padding, -torch.inf)[:, None, None, :]


def bias_at(positions: Tensor, bias: Tensor | None, causal: bool, x: Tensor) -> Tensor | None:
    """The rows of a bias (B or 1, H or 1, T or 1, T) at `positions` (B, K): (B or 1, H or 1, K or 1, T).

    With `causal`, they also mask the tokens of `x` (B, T, D) after each position.
    """
    if bias is not None and bias.shape[-2] > 1:
        batch, heads, rows, tokens = bias.shape
        table = bias.transpose(1, 2).reshape(batch, rows, heads * tokens)
        of_query = F.embedding(positions, table[0]) if batch == 1 else gather(table, positions)  # (B, K, H T)
        bias = of_query.view(*positions.shape, heads, tokens).transpose(1, 2)
    if not causal:
        return bias
    later = torch.arange(x.shape[1], device=x.device) > positions[..., None]  # (B, K, T)
    masked = x.new_zeros(later.shape).masked_fill_(later, -torch.inf).unsqueeze(1)
    return masked if bias is None else bias + masked


def gather(x: Tensor, positions: Tensor) -> Tensor:
    """(B, T, D) at the `positions` (B, K): (B, K, D).

    On the CPU its backward pass is deterministic, unlike that of indexing.
    """
    batch, tokens, width = x.shape
    flat = torch.arange(batch, device=x.device)[:, None] * tokens + positions
    return x.reshape(batch * tokens, width).index_select(0, flat.flatten()).view(batch, -1, width)


def eager_on_cpu(x: Tensor) -> bool:
    """Whether reading `x` costs no wait: it is neither on an accelerator nor in a graph that is compiled."""
    return x.device.type == "cpu" and not torch.compiler.is_compiling()
