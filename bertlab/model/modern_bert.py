"""ModernBERT's encoder (Warner et al. 2024, section 2.1).

Pre-norm layers without biases, with GeGLU and rotary positions. The first of every `global_every` layers attends to all
tokens, the others to a window; each kind has rotary positions of its own base. The first layer has no normalisation
before its attention: its input, the embeddings, is normalised.

Shapes: B batch, T tokens, K positions of a sequence that are read, D hidden, H heads, d = D / H.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab import recipe
from bertlab.model.encoder import AttentionInputs, Stack
from bertlab.model.kernels.attention import attention
from bertlab.model.layers import (
    APPROXIMATE,
    Embeddings,
    LayerNorm,
    Rotation,
    bias_at,
    gather,
    rotate,
    split_heads,
)


class ModernEncoder(Stack):
    """ModernBERT's encoder. With `causal`, windows too end at each token."""

    def __init__(self, model: recipe.ModernBert, vocabulary: int, positions: int, causal: bool = False) -> None:
        super().__init__(model, positions, causal)
        self.global_every, self.reach = model.global_every, model.window // 2
        self.embeddings = Embeddings(model, vocabulary, positions)
        self.layers = nn.ModuleList(ModernLayer(model, first=place == 0) for place in range(model.layers))
        self.final_norm = _norm(model)
        size = model.hidden // model.heads
        self.global_rotary = ModernRotary(positions, size, model.global_base)
        self.local_rotary = ModernRotary(positions, size, model.local_base)

    def attention_inputs(self, x: Tensor, lengths: Tensor | None) -> list[AttentionInputs]:
        """All tokens for the first of every `global_every` layers, a window for the others."""
        tokens = x.shape[1]
        everywhere = self.padding(x, lengths)
        nearby = everywhere if tokens <= self.reach + 1 else window_bias(everywhere, self.reach, x)
        of_global: AttentionInputs = everywhere, self.global_rotary(tokens)
        of_local: AttentionInputs = nearby, self.local_rotary(tokens)
        return [of_local if place % self.global_every else of_global for place in range(self.num_layers)]


class ModernLayer(nn.Module):
    """Self-attention, then GeGLU, each on its normalised input, with the protocol of `layers.Layer`."""

    def __init__(self, model: recipe.ModernBert, first: bool) -> None:
        super().__init__()
        self.attention_norm = None if first else _norm(model)
        self.attention = ModernAttention(model)
        self.attention_output: nn.Module = nn.Identity()
        self.mlp_norm = _norm(model)
        self.mlp = GeGLU(model)
        self.mlp_output: nn.Module = nn.Identity()
        self.dropout = nn.Dropout(model.dropout)

    def forward(
        self,
        x: Tensor,
        bias: Tensor | None,
        rotation: Rotation,
        positions: Tensor | None = None,
        real: Tensor | None = None,
        *,
        causal: bool = False,
    ) -> Tensor:
        """(B, T, D) -> (B, T, D), or (B, K, D) only at the `positions` (B, K); the arguments of `layers.Layer`."""
        normed = x if self.attention_norm is None else self.attention_norm(x)
        attended = self.dropout(self.attention(normed, bias, rotation, positions, causal=causal))
        x = (x if positions is None else gather(x, positions)) + self.attention_output(attended)
        out: Tensor = x + self.mlp_output(self.mlp(self.mlp_norm(x)))
        return out


class ModernAttention(nn.Module):
    """Multi-head attention without biases, on rotary positions."""

    def __init__(self, model: recipe.ModernBert) -> None:
        super().__init__()
        self.heads = model.heads
        self.qkv_proj = nn.Linear(model.hidden, 3 * model.hidden, bias=False)
        self.out_proj = nn.Linear(model.hidden, model.hidden, bias=False)
        self.dropout = nn.Dropout(model.dropout)  # of attention probabilities

    def forward(
        self,
        x: Tensor,
        bias: Tensor | None,
        rotation: Rotation,
        positions: Tensor | None = None,
        *,
        causal: bool = False,
    ) -> Tensor:
        """(B, T, D) -> (B, T, D), or (B, K, D) from the `positions` (B, K)."""
        of_query = rotation
        if positions is None:
            query, key, value = split_heads(self.qkv_proj(x), 3, self.heads)
        else:
            width, weight = x.shape[-1], self.qkv_proj.weight
            (query,) = split_heads(F.linear(gather(x, positions), weight[:width]), 1, self.heads)
            key, value = split_heads(F.linear(x, weight[width:]), 2, self.heads)
            cosine, sine = (F.embedding(positions, table).unsqueeze(1) for table in rotation)  # (B, 1, K, d/2)
            of_query = cosine, sine
            bias, causal = bias_at(positions, bias, causal, x), False
        query, key = rotate(query, of_query), rotate(key, rotation)
        dropout = self.dropout.p if self.training else 0.0
        mixed = attention(query, key, value, bias, causal=causal, dropout=dropout)  # (B, H, K, d)
        out: Tensor = self.out_proj(mixed.transpose(1, 2).flatten(2))
        return out


class GeGLU(nn.Module):
    """The feed-forward network fc2(GELU(a) * b), where a and b are the halves of fc1(x) (Shazeer 2020)."""

    def __init__(self, model: recipe.ModernBert) -> None:
        super().__init__()
        self.approximate = APPROXIMATE[model.activation]
        self.fc1 = nn.Linear(model.hidden, 2 * model.feedforward, bias=False)
        self.fc2 = nn.Linear(model.feedforward, model.hidden, bias=False)
        self.dropout = nn.Dropout(model.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        gate, value = self.fc1(x).chunk(2, -1)
        out: Tensor = self.fc2(self.dropout(F.gelu(gate, approximate=self.approximate) * value))
        return out


class ModernRotary(nn.Module):
    """Angles of rotary positions, position x base^(-2i / d) for pair i of a head.

    In fp32, as the published models were trained: at position 8,000 they are up to 1e-3 from the exact ones.
    """

    cosine: Tensor
    sine: Tensor

    def __init__(self, positions: int, size: int, base: float) -> None:
        super().__init__()
        frequency = 1.0 / base ** (torch.arange(0, size, 2, dtype=torch.float32) / size)
        angle = torch.arange(positions, dtype=torch.float32)[:, None] * frequency  # (positions, d/2)
        self.register_buffer("cosine", angle.cos(), persistent=False)
        self.register_buffer("sine", angle.sin(), persistent=False)

    def forward(self, tokens: int) -> Rotation:
        """Those of the first `tokens` positions, (T, d/2) each."""
        return self.cosine[:tokens], self.sine[:tokens]


def window_bias(bias: Tensor | None, reach: int, x: Tensor) -> Tensor:
    """(B or 1, 1, T, T): `bias` on the tokens up to `reach` from each token, minus infinity on others.

    Every token sees itself, so that padding, which may see nothing else, stays finite. It is like `x` (B, T, D).
    """
    tokens = x.shape[1]
    place = torch.arange(tokens, device=x.device)
    distance = (place[:, None] - place).abs()
    far = x.new_zeros(tokens, tokens).masked_fill_(distance > reach, -torch.inf)
    both = far[None, None] if bias is None else bias + far
    return both.masked_fill(distance == 0, 0.0)


def _norm(model: recipe.ModernBert) -> LayerNorm:
    return LayerNorm(model.hidden, model.layer_norm_eps, bias=False)
