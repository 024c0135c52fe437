"""The parts of transformers beside attention (Vaswani et al. 2017, section 3; Devlin et al. 2019, appendix A.2).

A block is put together from its parts: attention, cross-attention or none, an MLP, and normalisations behind each
sub-layer (post-norm, BERT) or before it (pre-norm, Xiong et al. 2020).

Shapes: B batch, T tokens, K positions of a sequence that are read, D hidden, E embeddings, H heads.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab import recipe
from bertlab.model.attention import Attention, gather
from bertlab.model.cache import Cache, KeyValues
from bertlab.model.kernels.dropout import Dropout
from bertlab.model.positions import Rotation
from bertlab.model.power_norm import PowerNorm

EPSILON = 1e-12
APPROXIMATE = {"gelu": "none", "gelu_new": "tanh"}
"""What torch calls the versions of GELU."""


class LayerNorm(nn.LayerNorm):
    """Normalises each vector by itself, also those of padding (Ba et al. 2016)."""

    over_tokens = False
    """Whether training reads statistics off all tokens of a batch, so that every layer has to compute all of them."""

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """(B, T, D) -> (B, T, D), in the type of `x`: CUDA's autocast would return fp32."""
        return super().forward(x).to(x.dtype)


Norm = LayerNorm | PowerNorm


class Embeddings(nn.Module):
    """The sum of token, segment and learned position embeddings, normalised; rotary positions are in the layers.

    Embeddings that are narrower than the layers are then projected to their width (Lan et al. 2020, section 3.1).
    """

    def __init__(self, model: recipe.TransformerConfig, vocabulary: int, positions: int) -> None:
        super().__init__()
        width, hidden = model.embedding_width, model.hidden
        self.tokens = nn.Embedding(vocabulary, width)
        self.segments = nn.Embedding(model.segments, width) if model.segments else None
        self.positions = nn.Embedding(positions, width) if model.positions == "learned" else None
        self.norm = LayerNorm(width, model.layer_norm_eps, bias=model.biases)
        self.dropout = Dropout(model.dropout)
        self.projection = nn.Linear(width, hidden) if width != hidden else None

    def forward(self, tokens: Tensor, segments: Tensor | None = None, first: int = 0) -> Tensor:
        """(B, T) and (B, T), all 0 for None -> (B, T, D); the first token is at the position `first`."""
        x = self.tokens(tokens)
        if self.segments is not None:
            single = segments is None or self.segments.num_embeddings == 1
            x = x + self.segments(torch.zeros_like(tokens) if single else segments)
        if self.positions is not None:
            x = x + self.positions.weight[first : first + tokens.shape[1]]
        x = self.norm(x)
        if torch.is_autocast_enabled(x.device.type):
            x = x.to(torch.get_autocast_dtype(x.device.type))
        out: Tensor = self.dropout(x)
        return out if self.projection is None else self.projection(out)


class MLP(nn.Module):
    """The position-wise feed-forward network: fc2(GELU(fc1(x))) (Vaswani et al. 2017, section 3.3)."""

    def __init__(self, model: recipe.TransformerConfig) -> None:
        super().__init__()
        self.approximate = APPROXIMATE[model.activation]
        self.fc1 = nn.Linear(model.hidden, model.feedforward)
        self.fc2 = nn.Linear(model.feedforward, model.hidden)
        self.dropout = Dropout(model.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        out: Tensor = self.dropout(self.fc2(F.gelu(self.fc1(x), approximate=self.approximate)))
        return out


class GeGLU(nn.Module):
    """The feed-forward network fc2(GELU(a) * b), where a and b are the halves of fc1(x) (Shazeer 2020).

    It has no biases, and dropout before fc2.
    """

    def __init__(self, model: recipe.TransformerConfig) -> None:
        super().__init__()
        self.approximate = APPROXIMATE[model.activation]
        self.fc1 = nn.Linear(model.hidden, 2 * model.feedforward, bias=False)
        self.fc2 = nn.Linear(model.feedforward, model.hidden, bias=False)
        self.dropout = Dropout(model.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        gate, value = self.fc1(x).chunk(2, -1)
        out: Tensor = self.fc2(self.dropout(F.gelu(gate, approximate=self.approximate) * value))
        return out


class Block(nn.Module):
    """Self-attention, cross-attention if it has some, and an MLP, each added to its input and normalised behind that
    (post-norm, BERT); or with `pre_norm` each on its normalised input, x + f(norm(x)) (Xiong et al. 2020, Table 1).

    `attention_norm` may be None in pre-norm. `attention_output` and `mlp_output` transform what is added: an adaptation
    may replace them by its own modules.
    """

    def __init__(
        self,
        attention: Attention,
        mlp: nn.Module,
        attention_norm: Norm | None,
        mlp_norm: Norm,
        cross: tuple[Attention, Norm] | None = None,
        *,
        pre_norm: bool = False,
    ) -> None:
        super().__init__()
        self.pre_norm = pre_norm
        self.attention, self.attention_norm = attention, attention_norm
        self.attention_output: nn.Module = nn.Identity()
        self.cross_attention: Attention | None = cross[0] if cross else None
        self.cross_norm: Norm | None = cross[1] if cross else None
        self.mlp, self.mlp_norm = mlp, mlp_norm
        self.mlp_output: nn.Module = nn.Identity()

    def forward(
        self,
        x: Tensor,
        bias: Tensor | None,
        rotation: Rotation | None,
        positions: Tensor | None = None,
        real: Tensor | None = None,
        memory: Tensor | KeyValues | None = None,
        memory_bias: Tensor | None = None,
        *,
        causal: bool = False,
        cache: Cache | None = None,
    ) -> Tensor:
        """(B, T, D) -> (B, T, D), or (B, K, D) only at the `positions` (B, K).

        `bias` (B or 1, H or 1, T or 1, T) is added to the scores of attention; with `causal`, each token also sees
        only itself and those before it. `real` (B, T) are the tokens that are no padding, for the normalisation; None
        if all are. Cross-attention reads `memory` (B, S, D), with `memory_bias` (B or 1, H or 1, T or 1, S). A `cache`
        has the tokens before `x`.
        """

        def before(norm: Norm | None, x: Tensor) -> Tensor:
            return norm(x, real) if self.pre_norm and norm is not None else x

        def behind(norm: Norm | None, x: Tensor) -> Tensor:
            return x if self.pre_norm or norm is None else norm(x, real)

        source = before(self.attention_norm, x)
        read = source if positions is None else gather(source, positions)
        if source is x:  # attention is added to what it reads
            x = read
        elif positions is not None:
            x = gather(x, positions)
        attended = self.attention(read, source, bias, rotation, positions, causal=causal, cache=cache)
        x = behind(self.attention_norm, x + self.attention_output(attended))
        if self.cross_attention is not None and memory is not None:
            x = behind(self.cross_norm, x + self.cross_attention(before(self.cross_norm, x), memory, memory_bias))
        return behind(self.mlp_norm, x + self.mlp_output(self.mlp(before(self.mlp_norm, x))))


def set_dropout(module: nn.Module, probability: float) -> None:
    """Sets the probability of every dropout in `module`."""
    for child in module.modules():
        if isinstance(child, nn.Dropout):
            child.p = probability
