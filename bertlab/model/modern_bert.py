"""ModernBERT's encoder (Warner et al. 2024, section 2.1).

Pre-norm layers without biases, with GeGLU and rotary positions. The first of every `global_every` layers attends to all
tokens, the others to a window; each kind has rotary positions of its own base. The first layer has no normalisation
before its attention: its input, the embeddings, is normalised.
"""

import torch
from torch import Tensor, nn

from bertlab import recipe
from bertlab.model.attention import Attention
from bertlab.model.cache import AttentionInputs
from bertlab.model.encoder import TransformerEncoder
from bertlab.model.layers import Block, Embeddings, GeGLU, LayerNorm
from bertlab.model.positions import Rotary, window_bias


class ModernBertEncoder(TransformerEncoder):
    """ModernBERT's encoder. With `causal`, windows too end at each token."""

    def __init__(self, model: recipe.ModernBert, vocabulary: int, max_length: int, causal: bool = False) -> None:
        super().__init__(model, max_length, causal)
        self.global_every, self.reach = model.global_every, model.window // 2
        self.embeddings = Embeddings(model, vocabulary, max_length)
        self.layers = nn.ModuleList(_layer(model, first=index == 0) for index in range(model.layers))
        self.final_norm = _norm(model)
        size = model.hidden // model.heads
        self.global_rotary = Rotary(_frequencies(size, model.global_base), max_length)
        self.local_rotary = Rotary(_frequencies(size, model.local_base), max_length)

    def attention_inputs(self, x: Tensor, lengths: Tensor | None) -> list[AttentionInputs]:
        """All tokens are seen by the first of every `global_every` layers, a window for the others."""
        tokens = x.shape[1]
        everywhere = self.padding(x, lengths)
        nearby = everywhere if tokens <= self.reach + 1 else window_bias(everywhere, self.reach, x)
        of_global: AttentionInputs = everywhere, self.global_rotary(tokens)
        of_local: AttentionInputs = nearby, self.local_rotary(tokens)
        return [of_local if index % self.global_every else of_global for index in range(self.num_layers)]


def _layer(model: recipe.ModernBert, *, first: bool) -> Block:
    attention = Attention(model.hidden, model.heads, model.dropout, biases=False)
    return Block(attention, GeGLU(model), None if first else _norm(model), _norm(model), pre_norm=True)


def _norm(model: recipe.ModernBert) -> LayerNorm:
    return LayerNorm(model.hidden, model.layer_norm_eps, bias=False)


def _frequencies(size: int, base: float) -> Tensor:
    """base^(-2i / d) for pair i of a head of `size` d, (d/2).

    In fp32, as the published models were trained: at position 8,000 the angles are up to 1e-3 from the exact ones.
    """
    return 1.0 / base ** (torch.arange(0, size, 2, dtype=torch.float32) / size)
