"""What ELMo puts above a pre-trained model (Peters et al. 2018, section 3.3).

Shapes: B batch, T tokens, K positions of a sequence that are read, D hidden, N units per direction.
"""

import torch
from torch import Tensor, nn

from bertlab.keyed import key
from bertlab.model.attention import gather, real_tokens
from bertlab.model.backbone import Backbone, BackboneWrapper
from bertlab.model.initial import HEAD_STD, initialise
from bertlab.model.recurrent import BiLSTM, ScalarMix
from bertlab.model.streams import TensorBatch
from bertlab.recipe.objective import INPUTS


class LayerReader(BackboneWrapper):
    """A BiLSTM that reads one level of a backbone, or the learned mix of all; its own layers belong to no level.

    The vector at [CLS] is that of the sequence: the mean of all vectors with learned attention.
    """

    def __init__(
        self, encoder: Backbone, level: int | None, units: int, layers: int, dropout: float, seed: int
    ) -> None:
        """Reads the level number `level`, 0 for the embeddings; the mix for None. New weights start from `seed`."""
        super().__init__(encoder)
        self.causal, self.hidden_size, self.level = False, 2 * units, level
        self.mix = ScalarMix(encoder.num_layers + 1) if level is None else None
        self.recurrent = BiLSTM(encoder.hidden_size, units, layers, dropout, seed)
        self.attention = nn.Linear(2 * units, 1)
        initialise(self.attention, HEAD_STD, key(seed, "attention"))

    def embed(self, batch: TensorBatch) -> dict[str, Tensor]:
        """What the BiLSTM reads (B, T, D)."""
        states = self.encoder.hidden_states(batch)
        return {INPUTS: states[self.level or 0] if self.mix is None else self.mix(torch.stack(states, -2))}

    def encode(self, x: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """The vectors of the BiLSTM, of 2 N features: see `Backbone.encode`."""
        x = self.recurrent(x, lengths)
        scores = self.attention(x).float()  # (B, T, 1)
        if lengths is not None:
            scores = scores.masked_fill(~real_tokens(lengths, x.shape[1])[..., None], -torch.inf)
        summary = (scores.softmax(1).to(x.dtype) * x).sum(1, keepdim=True)
        x = torch.cat((summary, x[:, 1:]), 1)
        return x if positions is None else gather(x, positions)
