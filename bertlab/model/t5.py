"""T5 (Raffel et al. 2020, section 2.1 and released code): an encoder and a decoder, or a decoder alone.

Layers are pre-norm, without biases, and normalise by the root mean square. Products of attention are not divided; a
learned bias for the distance of two tokens is added to them, the same in all layers of a stack. Cross-attention has no
such bias.

Shapes: B batch, T tokens of the inputs, U tokens of the stream that is decoded, D hidden, H heads, V vocabulary.
"""

import math
from collections.abc import Mapping
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model.attention import Attention, StackedLinear, gather, real_tokens
from bertlab.model.backbone import ReadAt
from bertlab.model.cache import AttentionInputs, Cache, DecodingState
from bertlab.model.encoder import EncoderWithDecoder, TransformerEncoder
from bertlab.model.kernels.dropout import Dropout
from bertlab.model.layers import APPROXIMATE, Block, Embeddings, LayerNorm
from bertlab.model.sharing import save_once
from bertlab.model.streams import Lengths, TensorBatch
from bertlab.recipe.objective import INPUTS, Decoded


def new_encoder(model: recipe.T5, vocabulary: int, max_length: int, causal: bool = False) -> "T5Encoder":
    """The backbone of this structure."""
    structure = EncoderDecoder if model.structure == "encoder-decoder" else JoinedDecoder
    return structure(model, vocabulary, max_length, causal)


class RMSNorm(LayerNorm):
    """Divides each vector by its root mean square, which is computed in fp32, and multiplies it by a gain (Zhang and
    Sennrich 2019). At the end of a stack, dropout follows."""

    def __init__(self, model: recipe.T5, *, end: bool = False) -> None:
        super().__init__(model.hidden, model.layer_norm_eps, bias=False)
        self.dropout = Dropout(model.dropout) if end else None

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """(B, T, D) -> (B, T, D), in the type of `x`."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        out = F.rms_norm(wide, self.normalized_shape, self.weight, self.eps).to(x.dtype)
        return out if self.dropout is None else self.dropout(out)


class RelativeBias(nn.Module):
    """A number for each head and each bucket of distances from a token to the one that it sees.

    Half of the buckets have one distance each; the others grow with it, up to one for all from `distance` on. On
    `both_sides`, each side has half of the buckets; else all later tokens are at the distance 0.
    """

    bucket: Tensor

    def __init__(self, model: recipe.T5, both_sides: bool) -> None:
        super().__init__()
        self.table = nn.Embedding(model.buckets, model.heads)
        self.reach = model.distance
        distance = torch.arange(-self.reach, self.reach + 1)
        self.register_buffer("bucket", buckets(distance, model.buckets, model.distance, both_sides), persistent=False)

    def forward(self, tokens: int) -> Tensor:
        """The bias (1, H, T, T) of sequences of T `tokens`."""
        position = torch.arange(tokens, device=self.bucket.device)
        distance = (position - position[:, None]).clamp(-self.reach, self.reach)
        bias: Tensor = self.table(self.bucket[distance + self.reach])
        return bias.permute(2, 0, 1)[None]


def buckets(distance: Tensor, count: int, farthest: int, both_sides: bool) -> Tensor:
    """The bucket of each distance, which is positive for later tokens; like `distance`."""
    first = torch.zeros_like(distance)
    if both_sides:
        count //= 2
        first, distance = count * (distance > 0), distance.abs()
    else:
        distance = (-distance).clamp(min=0)
    exact = count // 2
    # In fp32, as the published models were trained: next to a border, rounding decides.
    growth = torch.log(distance.clamp(min=1).float() / exact) / math.log(farthest / exact)
    far = (exact + (growth * (count - exact)).long()).clamp(max=count - 1)
    return first + torch.where(distance < exact, distance, far)


class TokenEmbeddings(Embeddings):
    """Token embeddings alone, under dropout."""

    def __init__(self, model: recipe.T5, vocabulary: int) -> None:
        nn.Module.__init__(self)
        self.tokens = nn.Embedding(vocabulary, model.hidden)
        self.segments = self.positions = self.projection = None
        self.dropout = Dropout(model.dropout)

    def forward(self, tokens: Tensor, segments: Tensor | None = None, first: int = 0) -> Tensor:
        """(B, T) -> (B, T, D)."""
        x = self.tokens(tokens)
        if torch.is_autocast_enabled(x.device.type):
            x = x.to(torch.get_autocast_dtype(x.device.type))
        out: Tensor = self.dropout(x)
        return out


class FeedForward(nn.Module):
    """fc2(ReLU(fc1(x))), or with a gate fc2(GELU(a) * b)."""

    def __init__(self, model: recipe.T5) -> None:
        super().__init__()
        if model.gated:
            self.gated, self.fc1 = Gated(model), None
        else:
            self.fc1 = nn.Linear(model.hidden, model.feedforward, bias=False)
        self.fc2 = nn.Linear(model.feedforward, model.hidden, bias=False)
        self.dropout, self.output_dropout = Dropout(model.dropout), Dropout(model.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        x = F.relu(self.fc1(x)) if self.fc1 is not None else self.gated(x)
        out: Tensor = self.output_dropout(self.fc2(self.dropout(x)))
        return out


class Gated(nn.Module):
    """GELU(a) * b, where a and b are the halves of fc1(x)."""

    def __init__(self, model: recipe.T5) -> None:
        super().__init__()
        self.approximate = APPROXIMATE[model.activation]
        self.fc1 = StackedLinear(model.hidden, model.feedforward, 2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, F)."""
        gate, value = self.fc1(x).chunk(2, -1)
        out: Tensor = F.gelu(gate, approximate=self.approximate) * value
        return out


def _block(model: recipe.T5, *, cross: bool = False) -> Block:
    of_memory = (_attention(model), RMSNorm(model)) if cross else None
    return Block(_attention(model), FeedForward(model), RMSNorm(model), RMSNorm(model), of_memory, pre_norm=True)


def _attention(model: recipe.T5) -> Attention:
    return Attention(model.hidden, model.heads, model.dropout, biases=False, divided=False)


def seen_before(tokens: int, prefix: Tensor, like: Tensor) -> Tensor:
    """(B or 1, 1, T, T): 0 on each of T `tokens` itself, those before it and the first `prefix` (B or 1,); minus
    infinity on others. The type and device are those of `like`."""
    position = torch.arange(tokens, device=like.device)
    hidden = (position > position[:, None]) & (position >= prefix[:, None, None])
    return like.new_zeros(hidden.shape).masked_fill_(hidden, -torch.inf)[:, None]


class T5Encoder(TransformerEncoder):
    """A stack of layers without cross-attention, over embeddings that are the output matrix too if they are `tied`."""

    final_norm: RMSNorm

    def __init__(self, model: recipe.T5, vocabulary: int, max_length: int, causal: bool) -> None:
        super().__init__(model, max_length, causal)
        self.embeddings = TokenEmbeddings(model, vocabulary)
        self.layers = nn.ModuleList(_block(model) for _ in range(model.layers))
        self.relative_bias = RelativeBias(model, both_sides=model.structure != "decoder")
        self.final_norm = RMSNorm(model, end=True)
        self.output = None if model.tied else nn.Embedding(vocabulary, model.hidden)

    @property
    def output_embeddings(self) -> Tensor:
        """The output matrix (V, D): the token embeddings divided by the root of D, or a matrix of its own."""
        if self.output is not None:
            weight: Tensor = self.output.weight
            return weight
        scaled: Tensor = self.embeddings.tokens.weight * self.hidden_size**-0.5
        return scaled

    @property
    def levels(self) -> list[nn.Module]:
        """The embeddings and each layer, the first with the bias of distances, the last with what is above it."""
        top = [self.final_norm] if self.output is None else [self.final_norm, self.output]
        return [self.embeddings, *_levels(self.layers, self.relative_bias, *top)]

    def embed(self, batch: TensorBatch) -> dict[str, Tensor]:
        """The embeddings (B, T, D) of each stream."""
        return {name: self.embeddings(stream.tokens) for name, stream in batch.streams.items()}

    def attention_inputs(self, x: Tensor, lengths: Tensor | None) -> list[AttentionInputs]:
        """The same bias of distances and padding in all layers."""
        bias, padding = self.relative_bias(x.shape[1]), self.padding(x, lengths)
        return [(bias if padding is None else bias + padding, None)] * self.num_layers


def _levels(layers: nn.ModuleList, below: nn.Module, *above: nn.Module) -> list[nn.Module]:
    levels = [[layer] for layer in layers]
    levels[0].insert(0, below)
    levels[-1].extend(above)
    return [nn.ModuleList(level) for level in levels]


class EncoderDecoder(EncoderWithDecoder, T5Encoder):
    """An encoder, and a decoder that reads its vectors."""

    def __init__(self, model: recipe.T5, vocabulary: int, max_length: int, causal: bool) -> None:
        super().__init__(model, vocabulary, max_length, causal)
        self.decoder_layers = nn.ModuleList(_block(model, cross=True) for _ in range(model.decoder_depth))
        self.decoder_bias = RelativeBias(model, both_sides=False)
        self.decoder_norm = RMSNorm(model, end=True)
        if model.shared:
            for layer, other in zip(self.decoder_layers, self.layers, strict=True):
                layer.attention, layer.attention_norm = other.attention, other.attention_norm
                layer.mlp, layer.mlp_norm = other.mlp, other.mlp_norm
            save_once(self)

    @property
    def levels(self) -> list[nn.Module]:
        """The embeddings, and the layers of both stacks in pairs from the top, with what is below and above them."""
        embeddings, *encoder = super().levels
        stacks = (encoder, _levels(self.decoder_layers, self.decoder_bias, self.decoder_norm))
        highest = max(map(len, stacks))
        pairs = ([stack[-depth] for stack in stacks if depth <= len(stack)] for depth in range(highest, 0, -1))
        return [embeddings, *map(nn.ModuleList, pairs)]

    def embed_outputs(self, tokens: Tensor, first: int = 0) -> Tensor:
        """The embeddings (B, U, D), the same at all positions."""
        x: Tensor = self.embeddings(tokens)
        return x

    def decoder_inputs(self, tokens: int, like: Tensor) -> list[AttentionInputs]:
        """The same bias of distances in all layers."""
        return [(self.decoder_bias(tokens), None)] * len(self.decoder_layers)

    def decoder_output(self, x: Tensor) -> Tensor:
        """The vectors (B, U, D), normalised."""
        out: Tensor = self.decoder_norm(x)
        return out


class JoinedDecoder(T5Encoder):
    """One stack that reads the inputs and behind them, without padding in between, what is decoded.

    The last input predicts the first output, so that the token that begins what is decoded has no place in it.
    """

    decodes = True

    def __init__(self, model: recipe.T5, vocabulary: int, max_length: int, causal: bool) -> None:
        self.from_left = model.structure == "decoder"
        """Whether inputs see those before them alone."""
        super().__init__(model, vocabulary, max_length, causal or model.structure == "decoder")

    def read(
        self, embedded: Mapping[str, Tensor], lengths: Lengths, read_at: Mapping[str, ReadAt]
    ) -> dict[str, Tensor]:
        """The last layer's vectors where each name reads them: see `Backbone.read`."""
        decoded = {name: at for name, at in read_at.items() if isinstance(at, Decoded)}
        others = {name: at for name, at in read_at.items() if name not in decoded}
        vectors = super().read(embedded, lengths, others) if others else {}
        x = embedded[INPUTS]
        sizes = _sizes(x, lengths[INPUTS])
        return vectors | {name: self._decoded(x, sizes, embedded[at.stream], at) for name, at in decoded.items()}

    def begin(self, batch: TensorBatch, steps: int) -> DecodingState:
        """Reads the inputs: see `Backbone.begin`."""
        x = self.embed(batch)[INPUTS]
        sizes = _sizes(x, batch.lengths[INPUTS])
        tokens, distances = x.shape[1], self.relative_bias(x.shape[1] + steps)
        caches = [Cache(tokens + steps) for _ in self.layers]
        bias = distances[:, :, :tokens, :tokens] + seen_before(tokens, self._prefix(sizes), x)
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, bias, None, cache=cache)
        first = self.final_norm(gather(x, sizes[:, None] - 1))[:, 0]
        padding = x.new_zeros(len(x), 1, 1, tokens)
        padding = padding.masked_fill(~real_tokens(sizes, tokens)[:, None, None], -torch.inf)
        return DecodingState(caches, [(distances, None)], inputs={"sizes": sizes, "first": first, "padding": padding})

    def step(self, tokens: Tensor, state: DecodingState) -> Tensor:
        """Decodes a token: see `Backbone.step`."""
        now, sizes = state.done - 1, state.inputs["sizes"]
        state.done += 1
        if now < 0:
            return state.inputs["first"]
        padding, distances = state.inputs["padding"], cast(Tensor, state.attention[0][0])
        inputs = distances[0][:, sizes + now, : padding.shape[-1]].transpose(0, 1)[:, :, None] + padding
        outputs = distances[:, :, now : now + 1, : now + 1].expand(len(tokens), -1, -1, -1)
        x, bias = self.embeddings(tokens[:, None]), torch.cat([inputs, outputs], -1)
        for layer, cache in zip(self.layers, state.caches, strict=True):
            x = layer(x, bias, None, cache=cache)
        out: Tensor = self.final_norm(x)[:, 0]
        return out

    def _decoded(self, x: Tensor, sizes: Tensor, outputs: Tensor, at: Decoded) -> Tensor:
        """The vectors (B, U, D) that predict the outputs, or with those of the inputs before (B, T + U - 1, D)."""
        if at.with_inputs and not self.from_left:
            raise BadInput("the inputs of a prefix-decoder see each other: set over_inputs to false")
        tokens, column = x.shape[1] + outputs.shape[1] - 1, torch.arange(outputs.shape[1], device=x.device)
        position = torch.arange(tokens, device=x.device)
        behind = (position - sizes[:, None] + x.shape[1]).clamp(max=tokens - 1)
        joined = gather(torch.cat((x, outputs[:, 1:]), 1), torch.where(position < sizes[:, None], position, behind))
        positions = None if at.with_inputs else sizes[:, None] - 1 + column
        bias = self.relative_bias(tokens) + seen_before(tokens, self._prefix(sizes), joined)
        *lower, last = self.layers
        for layer in lower:
            joined = layer(joined, bias, None)
        out: Tensor = self.final_norm(last(joined, bias, None, positions))
        return out

    def _prefix(self, sizes: Tensor) -> Tensor:
        """How many tokens at the beginning all tokens see, (B or 1,), of inputs of these sizes (B,)."""
        return torch.zeros_like(sizes[:1]) if self.from_left else sizes


def _sizes(x: Tensor, lengths: Tensor | None) -> Tensor:
    """(B,) the tokens of sequences `x` (B, T, D) that are no padding."""
    return x.new_full((len(x),), x.shape[1], dtype=torch.long) if lengths is None else lengths
