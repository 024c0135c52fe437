"""A pre-trained encoder, and a decoder made of its like (Rothe et al. 2020, section 3).

The layers of the decoder are those of the encoder with cross-attention. Both stacks have one table of embeddings, which
is the output matrix too, under the transform and the bias of a LM head.

Shapes: B batch, U tokens of the stream that is decoded, D hidden, E embeddings.
"""

import copy
from collections.abc import Collection
from typing import cast

from torch import Tensor, nn

from bertlab.errors import BadInput
from bertlab.model.cache import AttentionInputs
from bertlab.model.encoder import EncoderWithDecoder, TransformerEncoder
from bertlab.model.heads import LMHead, PretrainingModel
from bertlab.model.initial import initialise
from bertlab.model.layers import Block
from bertlab.model.sharing import save_once
from bertlab.model.streams import TensorBatch
from bertlab.recipe.objective import INPUTS


class Bert2Bert(EncoderWithDecoder):
    """An encoder and a decoder of the same layers, each pre-trained or with new weights."""

    def __init__(self, model: PretrainingModel, pretrained: Collection[str], shared: bool, seed: int) -> None:
        """Takes over the encoder of `model`. Of `embeddings`, `encoder` and `decoder`, those that are not `pretrained`
        start from new weights, as cross-attention does; `shared` layers are those of both stacks."""
        encoder = cast(TransformerEncoder, model.encoder)
        super().__init__(encoder.hidden_size, encoder.num_layers, encoder.max_length, causal=False)
        blocks = [cast(Block, layer) for layer in encoder.layers]
        common: list[nn.Module | None] = []
        if shared:
            layers = ((block.attention, block.attention_norm, block.mlp, block.mlp_norm) for block in blocks)
            common = [encoder.final_norm, *(part for layer in layers for part in layer)]
        memo = {id(part): part for part in common}
        self.encoder = encoder
        self.decoder_layers = copy.deepcopy(encoder.layers, memo)
        self.decoder_norm = copy.deepcopy(encoder.final_norm, memo)
        self.lm_head = LMHead(model.described, len(encoder.output_embeddings))
        cross = {"attention": nn.ModuleList(copy.deepcopy(block.attention) for block in blocks)}
        cross["norm"] = nn.ModuleList(copy.deepcopy(block.mlp_norm) for block in blocks)
        parts: dict[str, list[nn.Module]] = {"embeddings": [encoder.embeddings], "encoder": encoder.layer_levels}
        parts["decoder"] = self._decoder_levels
        new = {name: nn.ModuleList(modules) for name, modules in parts.items() if name not in pretrained}
        initialise(nn.ModuleDict(new | cross | {"lm_head": self.lm_head}), model.described.deviation, seed)
        for layer, attention, norm in zip(self.decoder_layers, *cross.values(), strict=True):
            layer.cross_attention, layer.cross_norm = attention, norm
        for head in model.children():
            if isinstance(head, LMHead) and "decoder" in pretrained:
                self.lm_head.load_state_dict(head.state_dict())
        save_once(self)

    @property
    def _decoder_levels(self) -> list[nn.Module]:
        *lower, last = self.decoder_layers
        return [*lower, last if self.decoder_norm is None else nn.ModuleList([last, self.decoder_norm])]

    @property
    def levels(self) -> list[nn.Module]:
        """The embeddings, and the layers of both stacks in pairs; the last one with the LM head."""
        *lower, last = zip(self.encoder.layer_levels, self._decoder_levels, strict=True)
        return [self.encoder.embeddings, *map(nn.ModuleList, lower), nn.ModuleList([*last, self.lm_head])]

    @property
    def output_embeddings(self) -> Tensor:
        """The token embeddings (V, E)."""
        return self.encoder.output_embeddings

    @property
    def output_bias(self) -> Tensor:
        """The bias (V,) of the LM head."""
        return self.lm_head.bias

    def embed(self, batch: TensorBatch) -> dict[str, Tensor]:
        """The embeddings (B, T, D) of each stream."""
        outputs = {name: stream.tokens for name, stream in batch.streams.items() if name != INPUTS}
        return self.encoder.embed(batch) | {name: self.embed_outputs(tokens) for name, tokens in outputs.items()}

    def encode(self, x: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """The last layer's vectors of the encoder: see `Backbone.encode`."""
        return self.encoder.encode(x, lengths, positions)

    def hidden_states(self, batch: TensorBatch) -> list[Tensor]:
        """The vectors (B, T, D) of the encoder's embeddings and layers."""
        return self.encoder.hidden_states(batch)

    def embed_outputs(self, tokens: Tensor, first: int = 0) -> Tensor:
        """The embeddings (B, U, D), all of the first segment."""
        x: Tensor = self.encoder.embeddings(tokens, None, first)
        return x

    def decoder_inputs(self, tokens: int, like: Tensor) -> list[AttentionInputs]:
        """Those of the encoder for so many tokens without padding. Raises `BadInput` for more than its positions."""
        if tokens > self.max_length:
            raise BadInput(
                f"the decoder has {self.max_length} positions, and {tokens} tokens may be written: let it be "
                f"{self.max_length} at most"
            )
        return self.encoder.attention_inputs(like.new_empty(1, tokens, 1), None)

    def decoder_output(self, x: Tensor) -> Tensor:
        """The vectors (B, U, E), transformed as those of a masked language model."""
        x = x if self.decoder_norm is None else self.decoder_norm(x)
        return self.lm_head.transformed(x)
