"""BERT's Transformer encoder (Devlin et al. 2019, section 3; Vaswani et al. 2017).

Under autocast, activations live in its type from the embeddings on, and LayerNorm keeps its statistics in fp32.

Shapes: B batch, T tokens, K positions that are read of a sequence, D hidden.
"""

from __future__ import annotations

from torch import Tensor, nn

from bertlab import recipe
from bertlab.model.layers import Embeddings, Layer, Rotary, Rotation, causal_bias, padding_bias


class Encoder(nn.Module):
    """Tokens in, one vector a token out: a `Backbone`. With `causal`, a token sees itself and those before it."""

    def __init__(self, model: recipe.Model, vocabulary: int, positions: int, causal: bool = False) -> None:
        """`positions` is the number of tokens that a sequence can have."""
        super().__init__()
        self.causal = causal
        self.hidden_size, self.num_layers, self.max_positions = model.hidden, model.layers, positions
        self.embeddings = Embeddings(model, vocabulary, positions)
        self.layers = nn.ModuleList(Layer(model) for _ in range(model.layers))
        self.rotary = Rotary(positions, model.hidden // model.heads) if model.positions == "rotary" else None

    @property
    def levels(self) -> list[nn.Module]:
        """The embeddings and each layer, from the input on."""
        return [self.embeddings, *self.layers]

    def freeze(self) -> None:
        """Keeps the weights as they are from now on; what is computed has no dropout and leaves no graph."""
        self.requires_grad_(False)
        self.eval()

    def train(self, mode: bool = True) -> Encoder:
        """Sets the mode, which of a frozen encoder is always that of evaluation."""
        return super().train(mode and any(value.requires_grad for value in self.parameters()))

    def forward(
        self, tokens: Tensor, segments: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """The last layer's vectors: (B, T, D), or (B, K, D) at the `positions` (B, K).

        `tokens` and `segments` are (B, T) integers; `lengths` (B,) says where padding begins, None that there is none.
        With `positions`, the last layer is computed there only, which changes nothing in what is returned.
        """
        return self.encode(self.embeddings(tokens, segments), lengths, positions)

    def encode(self, x: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """The same from the embeddings `x` (B, T, D) on."""
        bias, rotation = self._between_tokens(x, lengths)
        *lower, last = self.layers
        for layer in lower:
            x = layer(x, bias, rotation)
        out: Tensor = last(x, bias, rotation, positions)
        return out

    def hidden_states(self, tokens: Tensor, segments: Tensor, lengths: Tensor | None = None) -> list[Tensor]:
        """The vectors of every level, embeddings first: one (B, T, D) more than there are layers."""
        x = self.embeddings(tokens, segments)
        bias, rotation = self._between_tokens(x, lengths)
        states = [x]
        for layer in self.layers:
            states.append(layer(states[-1], bias, rotation))
        return states

    def _between_tokens(self, x: Tensor, lengths: Tensor | None) -> tuple[Tensor | None, Rotation | None]:
        """What all layers do to their scores: the bias of padding or the causal one, and the rotation."""
        tokens = x.shape[1]
        rotation = None if self.rotary is None else self.rotary(tokens)
        # Padding stands behind what it pads, where no token of a causal encoder looks.
        return causal_bias(tokens, x) if self.causal else padding_bias(lengths, tokens, x.dtype), rotation
