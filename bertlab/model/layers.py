"""The parts of BERT's encoder (Vaswani et al. 2017, section 3; Devlin et al. 2019, appendix A.2).

GELU; LayerNorm with epsilon 1e-12 or PowerNorm, behind each sub-layer (post-norm, BERT) or before it (pre-norm, Xiong
et al. 2020); learned positions, or rotary ones (Su et al. 2021).

Shapes: B batch, T tokens, K positions of a sequence that are read, D hidden, E embeddings, H heads, d = D / H.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab import recipe
from bertlab.model.kernels.attention import attention
from bertlab.model.power_norm import PowerNorm

EPSILON = 1e-12
APPROXIMATE = {"gelu": "none", "gelu_new": "tanh"}
"""What torch calls the versions of GELU."""
Rotation = tuple[Tensor, Tensor]
"""The cosines and sines of rotary angles: (T, d/2) each, or (B, 1, K, d/2)."""


class LayerNorm(nn.LayerNorm):
    """Normalises each vector by itself, also those of padding (Ba et al. 2016)."""

    over_tokens = False
    """Whether training reads statistics off all tokens of a batch, so that every layer has to compute all of them."""

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """(B, T, D) -> (B, T, D), in the type of `x`: CUDA's autocast would return fp32."""
        return super().forward(x).to(x.dtype)


Norm = LayerNorm | PowerNorm


def new_norm(model: recipe.Model) -> Norm:
    """The normalisation of vectors in the layers."""
    return (
        PowerNorm(model.hidden, model.heads) if model.norm == "power" else LayerNorm(model.hidden, model.layer_norm_eps)
    )


class Embeddings(nn.Module):
    """The sum of token, segment and learned position embeddings, normalised; rotary positions are in the layers.

    Embeddings that are narrower than the layers are then projected to their width (Lan et al. 2020, section 3.1).
    """

    def __init__(self, model: recipe.Transformer, vocabulary: int, positions: int) -> None:
        super().__init__()
        width, hidden = model.embedding_width, model.hidden
        self.tokens = nn.Embedding(vocabulary, width)
        self.segments = nn.Embedding(model.segments, width) if model.segments else None
        self.positions = nn.Embedding(positions, width) if model.positions == "learned" else None
        self.norm = LayerNorm(width, model.layer_norm_eps, bias=model.biases)
        self.dropout = nn.Dropout(model.dropout)
        self.projection = nn.Linear(width, hidden) if width != hidden else None

    def forward(self, tokens: Tensor, segments: Tensor) -> Tensor:
        """(B, T) and (B, T) -> (B, T, D)."""
        x = self.tokens(tokens)
        if self.segments is not None:
            own = segments if self.segments.num_embeddings > 1 else torch.zeros_like(segments)
            x = x + self.segments(own)
        if self.positions is not None:
            x = x + self.positions.weight[: tokens.shape[1]]
        x = self.norm(x)
        if torch.is_autocast_enabled(x.device.type):
            x = x.to(torch.get_autocast_dtype(x.device.type))
        out: Tensor = self.dropout(x)
        return out if self.projection is None else self.projection(out)


class Layer(nn.Module):
    """Self-attention, then an MLP, each added to its input and normalised (post-norm).

    `attention_output` and `mlp_output` transform what is added: an adaptation may replace them by its own modules.
    """

    def __init__(self, model: recipe.Model) -> None:
        super().__init__()
        self.attention = SelfAttention(model)
        self.attention_output: nn.Module = nn.Identity()
        self.attention_norm = new_norm(model)
        self.mlp = MLP(model)
        self.mlp_output: nn.Module = nn.Identity()
        self.mlp_norm = new_norm(model)
        self.dropout = nn.Dropout(model.dropout)

    def forward(
        self,
        x: Tensor,
        bias: Tensor | None,
        rotation: Rotation | None,
        positions: Tensor | None = None,
        real: Tensor | None = None,
        *,
        causal: bool = False,
    ) -> Tensor:
        """(B, T, D) -> (B, T, D), or (B, K, D) only at the `positions` (B, K).

        `bias` (B or 1, H or 1, T or 1, T) is added to the scores of attention; with `causal`, each token also sees
        only itself and those before it. `real` (B, T) are the tokens that are no padding, for the normalisation; None
        if all are.
        """
        read = x if positions is None else gather(x, positions)
        attended = self.dropout(self.attention(read, x, bias, rotation, positions, causal=causal))
        x = self.attention_norm(read + self.attention_output(attended), real)
        out: Tensor = self.mlp_norm(x + self.mlp_output(self.dropout(self.mlp(x))), real)
        return out


class PreNormLayer(Layer):
    """The same parts, each sub-layer on its normalised input: x + f(norm(x)) (Xiong et al. 2020, Table 1)."""

    def forward(
        self,
        x: Tensor,
        bias: Tensor | None,
        rotation: Rotation | None,
        positions: Tensor | None = None,
        real: Tensor | None = None,
        *,
        causal: bool = False,
    ) -> Tensor:
        """As `Layer.forward`."""
        normed = self.attention_norm(x, real)
        read = normed if positions is None else gather(normed, positions)
        attended = self.dropout(self.attention(read, normed, bias, rotation, positions, causal=causal))
        x = (x if positions is None else gather(x, positions)) + self.attention_output(attended)
        out: Tensor = x + self.mlp_output(self.dropout(self.mlp(self.mlp_norm(x, real))))
        return out


class StackedLinear(nn.Linear):
    """Several linear maps of the same input as one product, which is faster: the matrices are one below another."""

    def __init__(self, inputs: int, outputs: int, count: int) -> None:
        super().__init__(inputs, count * outputs)
        self.count = count


class SelfAttention(nn.Module):
    """Multi-head scaled dot-product attention (Vaswani et al. 2017, section 3.2)."""

    def __init__(self, model: recipe.Model) -> None:
        super().__init__()
        self.heads = model.heads
        self.qkv_proj = StackedLinear(model.hidden, model.hidden, 3)  # queries, keys and values
        self.out_proj = nn.Linear(model.hidden, model.hidden)
        self.dropout = nn.Dropout(model.dropout)  # of attention probabilities

    def forward(
        self,
        read: Tensor,
        x: Tensor,
        bias: Tensor | None,
        rotation: Rotation | None,
        positions: Tensor | None = None,
        *,
        causal: bool = False,
    ) -> Tensor:
        """Attention from `read` to `x` (B, T, D), in the shape of `read`: `x`, or its vectors at `positions` (B, K)."""
        of_query = rotation
        if positions is None:
            query, key, value = split_heads(self.qkv_proj(x), 3, self.heads)
        else:
            width, weight, offset = x.shape[-1], self.qkv_proj.weight, self.qkv_proj.bias
            (query,) = split_heads(F.linear(read, weight[:width], offset[:width]), 1, self.heads)
            key, value = split_heads(F.linear(x, weight[width:], offset[width:]), 2, self.heads)
            if rotation is not None:
                cosine, sine = (F.embedding(positions, table).unsqueeze(1) for table in rotation)  # (B, 1, K, d/2)
                of_query = cosine, sine
            bias, causal = bias_at(positions, bias, causal, x), False
        if rotation is not None and of_query is not None:
            query, key = rotate(query, of_query), rotate(key, rotation)
        dropout = self.dropout.p if self.training else 0.0
        mixed = attention(query, key, value, bias, causal=causal, dropout=dropout)  # (B, H, K, d)
        out: Tensor = self.out_proj(mixed.transpose(1, 2).flatten(2))
        return out


class MLP(nn.Module):
    """The position-wise feed-forward network: fc2(GELU(fc1(x))) (Vaswani et al. 2017, section 3.3)."""

    def __init__(self, model: recipe.Model) -> None:
        super().__init__()
        self.approximate = APPROXIMATE[model.activation]
        self.fc1 = nn.Linear(model.hidden, model.feedforward)
        self.fc2 = nn.Linear(model.feedforward, model.hidden)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        out: Tensor = self.fc2(F.gelu(self.fc1(x), approximate=self.approximate))
        return out


class Rotary(nn.Module):
    """Angles of rotary positions: position x 10,000^(-2i / d) for pair i of a head (Su et al. 2021, equation 15)."""

    cosine: Tensor
    sine: Tensor

    def __init__(self, positions: int, size: int) -> None:
        super().__init__()
        frequency = 10_000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
        angle = torch.arange(positions, dtype=torch.float64)[:, None] * frequency  # (positions, d/2)
        self.register_buffer("cosine", angle.cos().float(), persistent=False)
        self.register_buffer("sine", angle.sin().float(), persistent=False)


def rotate(x: Tensor, rotation: Rotation) -> Tensor:
    """`x` (B, H, T, d) with the pair (i, i + d/2) of each head rotated by its angle."""
    cosine, sine = (each.to(x.dtype) for each in rotation)
    first, second = x.chunk(2, -1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)


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


def set_dropout(module: nn.Module, probability: float) -> None:
    """Sets the probability of every dropout in `module`."""
    for each in module.modules():
        if isinstance(each, nn.Dropout):
            each.p = probability


def eager_on_cpu(x: Tensor) -> bool:
    """Whether reading `x` costs no wait: it is neither on an accelerator nor in a graph that is compiled."""
    return x.device.type == "cpu" and not torch.compiler.is_compiling()
