"""A left-to-right LSTM as a backbone.

Shapes: B batch, T tokens, K positions of a sequence that are read, D units, E embeddings, V vocabulary.
"""

from torch import Tensor, nn
from torch.nn import functional

from bertlab import recipe
from bertlab.model.attention import gather
from bertlab.model.backbone import Backbone
from bertlab.model.streams import TensorBatch
from bertlab.recipe.objective import INPUTS


class LSTMEncoder(Backbone):
    """Embeddings under layers of a left-to-right LSTM; dropout before each layer."""

    def __init__(self, model: recipe.LSTM, vocabulary: int, max_length: int, causal: bool = True) -> None:
        super().__init__(model.hidden, model.layers, max_length, causal)
        self.tokens = nn.Embedding(vocabulary, model.embedding_width)
        self.lstms = nn.ModuleList(nn.LSTM(width, model.hidden, batch_first=True) for width in model.input_widths)
        self.dropout = nn.Dropout(model.dropout)

    @property
    def levels(self) -> list[nn.Module]:
        """The embeddings and each layer, lowest first."""
        return [self.tokens, *self.lstms]

    @property
    def output_embeddings(self) -> Tensor:
        """The token embeddings (V, E)."""
        return self.tokens.weight

    def embed(self, batch: TensorBatch) -> dict[str, Tensor]:
        """The embeddings (B, T, E) of the stream `INPUTS`."""
        return {INPUTS: self.tokens(batch.tokens)}

    def encode(self, x: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """The last layer's vectors: see `Backbone.encode`. Padding is at the end, which no token reads."""
        for lstm in self.lstms:
            x, _ = lstm(self.dropout(x))
        return x if positions is None else gather(x, positions)

    def hidden_states(self, batch: TensorBatch) -> list[Tensor]:
        """The vectors (B, T, D) of the embeddings, filled up with zeros if they are narrower, and of each layer."""
        x = self.tokens(batch.tokens)
        states = [functional.pad(x, (0, self.hidden_size - x.shape[-1]))]
        for lstm in self.lstms:
            x, _ = lstm(self.dropout(x))
            states.append(x)
        return states
