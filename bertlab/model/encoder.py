"""BERT's Transformer encoder (Devlin et al. 2019, section 3; Vaswani et al. 2017), read from top to bottom.

Post-norm layers, erf GELU, LayerNorm with epsilon 1e-12, learned positions, or rotary ones (Su et al. 2021), without
which small models hardly learn. Under autocast, activations live in its type from the embeddings on, and
LayerNorm keeps its statistics in fp32.

Shapes: B batch, T tokens, R rows that are read of a sequence, D hidden, H heads, V vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab import recipe
from bertlab.keyed import key
from bertlab.model.dropout import Noise
from bertlab.model.kernels.attention import attention
from bertlab.model.kernels.eager import eager_on_cpu

SEGMENTS = 2
EPSILON = 1e-12


class Encoder(nn.Module):
    """Tokens in, one vector a token out. With `causal`, a token sees itself and those before it."""

    def __init__(self, model: recipe.Model, vocabulary: int, positions: int, causal: bool = False) -> None:
        super().__init__()
        self.noise, self.causal = Noise(model.dropout), causal
        self.hidden, self.positions = model.hidden, positions
        self.embeddings = Embeddings(model, vocabulary, positions, self.noise)
        self.layers = nn.ModuleList(Layer(model, self.noise) for _ in range(model.layers))
        self.rotary = Rotary(positions, model.hidden // model.heads) if model.positions == "rotary" else None

    def freeze(self) -> None:
        """Keeps the weights as they are from now on; what is computed has no dropout and leaves no graph."""
        self.requires_grad_(False)
        self.eval()

    def train(self, mode: bool = True) -> Encoder:
        """Sets the mode, which of a frozen encoder is always that of evaluation."""
        return super().train(mode and any(value.requires_grad for value in self.parameters()))

    def forward(
        self, tokens: Tensor, segments: Tensor, lengths: Tensor | None = None, rows: Tensor | None = None
    ) -> Tensor:
        """The last layer's vectors: (B, T, D), or (B, R, D) at the positions `rows` (B, R).

        `tokens` and `segments` are (B, T) integers; `lengths` (B,) says where padding begins, None that there is none.
        With `rows`, the last layer is computed there only, which changes nothing in what is returned.
        """
        return self.encoded(self.embeddings(tokens, segments), lengths, rows)

    def encoded(self, x: Tensor, lengths: Tensor | None = None, rows: Tensor | None = None) -> Tensor:
        """The same from the embeddings `x` (B, T, D) on."""
        bias, rotation = self._between_tokens(x, lengths)
        *lower, last = self.layers
        for layer in lower:
            x = layer(x, bias, rotation)
        out: Tensor = last(x, bias, rotation, rows)
        return out

    def hidden_states(self, tokens: Tensor, segments: Tensor, lengths: Tensor | None = None) -> list[Tensor]:
        """The vectors of every level, embeddings first: one (B, T, D) more than there are layers."""
        x = self.embeddings(tokens, segments)
        bias, rotation = self._between_tokens(x, lengths)
        states = [x]
        for layer in self.layers:
            states.append(layer(states[-1], bias, rotation))
        return states

    def _between_tokens(self, x: Tensor, lengths: Tensor | None) -> tuple[Tensor | None, tuple[Tensor, Tensor] | None]:
        """What all layers do to their scores: the bias of padding or the causal one, and the rotation."""
        width = x.shape[1]
        rotation = None if self.rotary is None else self.rotary(width)
        # Padding stands behind what it pads, where no token of a causal encoder looks.
        return causal_bias(width, x) if self.causal else padding_bias(lengths, width, x.dtype), rotation


class Embeddings(nn.Module):
    """The sum of token, segment and (if learned) position vectors, normalised."""

    def __init__(self, model: recipe.Model, vocabulary: int, positions: int, noise: Noise) -> None:
        super().__init__()
        self.noise = noise
        self.tokens = nn.Embedding(vocabulary, model.hidden)
        self.segments = nn.Embedding(SEGMENTS, model.hidden)
        self.positions = nn.Embedding(positions, model.hidden) if model.positions == "learned" else None
        self.norm = nn.LayerNorm(model.hidden, EPSILON)

    def forward(self, tokens: Tensor, segments: Tensor) -> Tensor:
        """(B, T) and (B, T) -> (B, T, D)."""
        x = self.tokens(tokens) + self.segments(segments)
        if self.positions is not None:
            x = x + self.positions.weight[: tokens.shape[1]]
        x = self.norm(x)
        if torch.is_autocast_enabled(x.device.type):
            x = x.to(torch.get_autocast_dtype(x.device.type))
        return self.noise.drop(x, self.training)


class Layer(nn.Module):
    """Self-attention, then a feed-forward network, each added to its input and normalised."""

    def __init__(self, model: recipe.Model, noise: Noise) -> None:
        super().__init__()
        self.heads, self.noise = model.heads, noise
        width, wide = model.hidden, model.feedforward
        self.attention_in = nn.Linear(width, 3 * width)  # queries, keys and values, one product
        self.attention_out = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, EPSILON)
        self.feedforward_in = nn.Linear(width, wide)
        self.feedforward_out = nn.Linear(wide, width)
        self.feedforward_norm = nn.LayerNorm(width, EPSILON)

    def forward(
        self,
        x: Tensor,
        bias: Tensor | None,
        rotation: tuple[Tensor, Tensor] | None,
        rows: Tensor | None = None,
    ) -> Tensor:
        """(B, T, D) -> (B, T, D), or (B, R, D) at the positions `rows` (B, R) only.

        `bias` is that of padding, (B, 1, 1, T), or the causal one, (1, 1, T, T).
        """
        width = x.shape[-1]
        queries, query_rotation = None, None
        causal = bias is not None and bias.shape[-2] > 1
        if rows is None:
            projected = self.attention_in(x)  # (B, T, 3D)
        else:
            weight, offset = self.attention_in.weight, self.attention_in.bias
            projected = F.linear(x, weight[width:], offset[width:])  # (B, T, 2D)
            x = gather_rows(x, rows)  # (B, R, D)
            queries = F.linear(x, weight[:width], offset[:width])
            if rotation is not None:
                cosine, sine = (F.embedding(rows, table).unsqueeze(1) for table in rotation)  # (B, 1, R, d/2)
                query_rotation = (cosine, sine)
            if bias is not None and causal:
                bias, causal = F.embedding(rows, bias[0, 0]).unsqueeze(1), False  # (B, 1, R, T)
        mixed = attention(
            projected, queries, self.heads, bias=bias, causal=causal, rotation=rotation, query_rotation=query_rotation,
            noise=self.noise, training=self.training,
        )  # fmt: skip
        x = self.attention_norm(self.noise.add(x, self.attention_out(mixed), self.training))
        wide = F.gelu(self.feedforward_in(x))  # (B, T, 4D)
        out: Tensor = self.feedforward_norm(self.noise.add(x, self.feedforward_out(wide), self.training))
        return out


class Rotary(nn.Module):
    """Angles of rotary positions: pair i of a head turns by position x 10,000^(-2i / d) (Su et al. 2021, eq. 15)."""

    cosine: Tensor
    sine: Tensor

    def __init__(self, positions: int, size: int) -> None:
        super().__init__()
        frequency = 10_000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
        angle = torch.arange(positions, dtype=torch.float64)[:, None] * frequency  # (positions, d/2)
        self.register_buffer("cosine", angle.cos().float(), persistent=False)
        self.register_buffer("sine", angle.sin().float(), persistent=False)

    def forward(self, tokens: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines of the first `tokens` positions, (T, d/2) each."""
        return self.cosine[:tokens], self.sine[:tokens]


def padding_bias(lengths: Tensor | None, tokens: int, dtype: torch.dtype) -> Tensor | None:
    """(B, 1, 1, T): minus infinity on padding, 0 elsewhere; None where the CPU sees that there is no padding."""
    if lengths is None or (eager_on_cpu(lengths) and bool((lengths >= tokens).all())):
        return None
    padding = torch.arange(tokens, device=lengths.device) >= lengths[:, None]
    bias = torch.zeros(padding.shape, dtype=dtype, device=lengths.device)
    return bias.masked_fill_(padding, -torch.inf)[:, None, None, :]


def causal_bias(tokens: int, like: Tensor) -> Tensor:
    """(1, 1, T, T): minus infinity on what stands behind each token, 0 elsewhere; type and device of `like`."""
    return like.new_full((tokens, tokens), -torch.inf).triu_(1)[None, None]


def gather_rows(x: Tensor, rows: Tensor) -> Tensor:
    """(B, T, D) at the positions `rows` (B, R): (B, R, D). Its backward is deterministic, that of indexing is not."""
    batch, tokens, width = x.shape
    flat = torch.arange(batch, device=x.device)[:, None] * tokens + rows
    return x.reshape(batch * tokens, width).index_select(0, flat.flatten()).view(batch, -1, width)


def initialise(module: nn.Module, deviation: float, seed: int) -> None:
    """Sets every parameter of `module` as BERT does, each as a function of `seed` and its own name.

    Weights are a normal of standard deviation `deviation` cut at two of them, biases 0, LayerNorm 1. A parameter that
    two recipes share starts from the same values in both.
    """
    norms = {name for name, child in module.named_modules() if isinstance(child, nn.LayerNorm)}
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            owner, _, kind = name.rpartition(".")
            if kind.startswith("bias"):
                parameter.zero_()
            elif owner in norms:
                parameter.fill_(1.0)
            else:
                generator = torch.Generator().manual_seed(key(seed, "weights", name) & (2**63 - 1))
                start = torch.empty(parameter.shape)
                nn.init.trunc_normal_(start, 0.0, deviation, -2 * deviation, 2 * deviation, generator=generator)
                parameter.copy_(start)
