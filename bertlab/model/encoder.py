"""BERT's Transformer encoder (Devlin et al. 2019, section 3; Vaswani et al. 2017).

Under autocast, activations have its type from the embeddings on, and LayerNorm computes its statistics in fp32.

Shapes: B batch, T tokens, K positions of a sequence that are read, D hidden.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn

from bertlab import recipe
from bertlab.model.attention import Attention, gather, padding_bias, real_tokens
from bertlab.model.backbone import Backbone, ReadAt
from bertlab.model.cache import AttentionInputs, Cache, DecodingState, KeyValues
from bertlab.model.layers import MLP, Block, Embeddings, LayerNorm, Norm
from bertlab.model.positions import Rotary
from bertlab.model.power_norm import PowerNorm
from bertlab.model.sharing import share
from bertlab.model.streams import Lengths, TensorBatch
from bertlab.recipe.objective import INPUTS, Decoded


class TransformerEncoder(Backbone, ABC):
    """Embeddings under layers of attention: what all transformers have in common.

    A subclass sets `embeddings`, `layers` and `final_norm`, if there is one. With `causal`, each token sees only itself
    and those before it, whatever the bias of a layer is.
    """

    embeddings: Embeddings
    layers: nn.ModuleList
    final_norm: Norm | None
    over_tokens = False
    """Whether a normalisation reads statistics off all tokens of a batch in training."""

    def __init__(self, model: recipe.TransformerConfig, max_length: int, causal: bool) -> None:
        super().__init__(model.hidden, model.layers, max_length, causal)
        self.heads = model.heads

    @abstractmethod
    def attention_inputs(self, x: Tensor, lengths: Tensor | None) -> list[AttentionInputs]:
        """The attention bias and rotary angles of each layer, for the embeddings `x` (B, T, D)."""

    def padding(self, x: Tensor, lengths: Tensor | None) -> Tensor | None:
        """The bias (B, 1, 1, T) that masks padding; None if `causal`: padding is at the end, which no token sees."""
        return None if self.causal else padding_bias(lengths, x.shape[1], x.dtype)

    @property
    def levels(self) -> list[nn.Module]:
        """The embeddings and each layer, lowest first; the last layer with the normalisation behind it."""
        return [self.embeddings, *self.layer_levels]

    @property
    def layer_levels(self) -> list[nn.Module]:
        """The levels above the embeddings."""
        *lower, last = self.layers
        return [*lower, last if self.final_norm is None else nn.ModuleList([last, self.final_norm])]

    @property
    def output_embeddings(self) -> Tensor:
        """The token embeddings (V, E)."""
        return self.embeddings.tokens.weight

    def share_embeddings(self, other: Backbone) -> None:
        """Shares the tables, which have to be of the same shape; segments and the normalisation stay its own."""
        if self.output_embeddings.shape != other.output_embeddings.shape or not isinstance(other, TransformerEncoder):
            return super().share_embeddings(other)
        self.embeddings.tokens, self.embeddings.positions = other.embeddings.tokens, other.embeddings.positions

    def embed(self, batch: TensorBatch) -> dict[str, Tensor]:
        """The embeddings (B, T, D) of the stream `INPUTS`."""
        return {INPUTS: self.embeddings(batch.tokens, batch.format.get("segments"))}

    def encode(self, x: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """The last layer's vectors: see `Backbone.encode`."""
        *below, of_last = self.attention_inputs(x, lengths)
        real, later = None, None
        if self.training and self.over_tokens:
            real = None if lengths is None else real_tokens(lengths, x.shape[1])
            positions, later = None, positions
        *lower, last = self.layers
        for layer, inputs in zip(lower, below, strict=True):
            x = layer(x, *inputs, None, real, causal=self.causal)
        x = last(x, *of_last, positions, real, causal=self.causal)
        if self.final_norm is not None:
            x = self.final_norm(x, real)
        return x if later is None else gather(x, later)

    def hidden_states(self, batch: TensorBatch) -> list[Tensor]:
        """The vectors (B, T, D) of the embeddings and of each layer; under pre-norm, only the last are normalised."""
        return self.states(self.embed(batch)[INPUTS], batch.lengths[INPUTS])

    def states(self, x: Tensor, lengths: Tensor | None = None) -> list[Tensor]:
        """The hidden states from the embeddings `x` (B, T, D) on, which are the first of them."""
        states = [x]
        for layer, inputs in zip(self.layers, self.attention_inputs(x, lengths), strict=True):
            states.append(layer(states[-1], *inputs, causal=self.causal))
        if self.final_norm is not None:
            states[-1] = self.final_norm(states[-1])
        return states


class EncoderWithDecoder(Backbone, ABC):
    """An encoder, and layers of a decoder that read its vectors. What reads positions of the inputs reads the encoder.

    Shapes beside those of encoders: U tokens of the stream that is decoded.
    """

    decodes = True
    decoder_layers: nn.ModuleList

    @abstractmethod
    def embed_outputs(self, tokens: Tensor, first: int = 0) -> Tensor:
        """The embeddings (B, U, D) of tokens (B, U) that are decoded, the first of them at this position."""

    @abstractmethod
    def decoder_inputs(self, tokens: int, like: Tensor) -> list[AttentionInputs]:
        """The attention bias and rotary angles of each layer of the decoder for this many tokens, without a mask of
        later ones; in the type and on the device of `like`."""

    @abstractmethod
    def decoder_output(self, x: Tensor) -> Tensor:
        """The vectors (B, U, D) that predict the next token, of those of the last layer."""

    def read(
        self, embedded: Mapping[str, Tensor], lengths: Lengths, read_at: Mapping[str, ReadAt]
    ) -> dict[str, Tensor]:
        """The last layer's vectors where each name reads them: see `Backbone.read`."""
        decoded = {name: at for name, at in read_at.items() if isinstance(at, Decoded)}
        if not decoded:
            return super().read(embedded, lengths, read_at)
        memory, bias = self._memory(embedded[INPUTS], lengths[INPUTS])
        others = {name: cast(Tensor | None, at) for name, at in read_at.items() if name not in decoded}
        vectors = {name: memory[:, 0] if at is None else gather(memory, at) for name, at in others.items()}
        streams = {at: self._decode(embedded[at.stream], memory, bias) for at in dict.fromkeys(decoded.values())}
        return vectors | {name: streams[at] for name, at in decoded.items()}

    def begin(self, batch: TensorBatch, steps: int) -> DecodingState:
        """Reads the inputs: see `Backbone.begin`."""
        memory, bias = self._memory(self.embed(batch)[INPUTS], batch.lengths[INPUTS])
        projected = (cast(Attention, layer.cross_attention).project(memory) for layer in self.decoder_layers)
        memories = [KeyValues(*(part.contiguous() for part in parts)) for parts in projected]
        caches = [Cache(steps) for _ in self.decoder_layers]
        return DecodingState(caches, self.decoder_inputs(steps, memory), memories, bias)

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """Decodes a token: see `Backbone.step`."""
        x, now = self.embed_outputs(tokens[:, None], state.done), state.done
        state.done += 1
        of_layers = zip(self.decoder_layers, state.attention, state.caches, state.memories, strict=True)
        for layer, (bias, rotation), cache, memory in of_layers:
            bias = None if bias is None else bias[:, :, now : now + 1, : now + 1]
            rotation = None if rotation is None else (rotation[0][now : now + 1], rotation[1][now : now + 1])
            x = layer(x, bias, rotation, None, None, memory, state.memory_bias, cache=cache)
        return self.decoder_output(x)[:, 0]

    def _memory(self, x: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """What the decoder reads: the encoder's vectors (B, T, D), and the bias of their padding."""
        memory = self.encode(x, lengths)
        # Padding sees itself where a row has nothing else, and stays finite.
        real = None if lengths is None else lengths.clamp(min=1)
        return memory, padding_bias(real, memory.shape[1], memory.dtype)

    def _decode(self, x: Tensor, memory: Tensor, memory_bias: Tensor | None) -> Tensor:
        """The vectors (B, U, D) that predict the next token, for the embeddings `x` (B, U, D) and the encoder's vectors
        `memory`."""
        for layer, inputs in zip(self.decoder_layers, self.decoder_inputs(x.shape[1], x), strict=True):
            x = layer(x, *inputs, None, None, memory, memory_bias, causal=True)
        return self.decoder_output(x)


class BertEncoder(TransformerEncoder):
    """BERT's encoder."""

    def __init__(self, model: recipe.Model, vocabulary: int, max_length: int, causal: bool = False) -> None:
        super().__init__(model, max_length, causal)
        self.embeddings = Embeddings(model, vocabulary, max_length)
        self.layers = nn.ModuleList(_layer(model) for _ in range(model.layers))
        share(self.layers, model)
        self.final_norm = _norm(model) if model.norm_position == "pre" else None
        self.over_tokens = any(norm.over_tokens for norm in self.norms)
        size = model.hidden // model.heads
        self.rotary = Rotary(frequencies(size), max_length) if model.positions == "rotary" else None

    def attention_inputs(self, x: Tensor, lengths: Tensor | None) -> list[AttentionInputs]:
        """The same in all layers: the bias of padding, and the rotation."""
        rotation = None if self.rotary is None else self.rotary(x.shape[1])
        return [(self.padding(x, lengths), rotation)] * self.num_layers


def _layer(model: recipe.Model) -> Block:
    attention = Attention(model.hidden, model.heads, model.dropout)
    return Block(attention, MLP(model), _norm(model), _norm(model), pre_norm=model.norm_position == "pre")


def _norm(model: recipe.Model) -> Norm:
    if model.norm == "power":
        return PowerNorm(model.hidden, model.heads)
    return LayerNorm(model.hidden, model.layer_norm_eps)


def frequencies(size: int) -> Tensor:
    """10,000^(-2i / d) for pair i of a head of `size` d, (d/2)."""
    return 10_000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
