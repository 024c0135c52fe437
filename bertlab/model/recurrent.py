"""A tagger over given features: the two-layer BiLSTM of the feature-based approach (Devlin et al. 2019, section 5.3).

Rows are packed by their lengths, so that the backward direction begins at a row's last token and not in its padding.

Shapes: B batch, T tokens, D features, N units a direction.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bertlab.model.dropout import Noise
from bertlab.model.encoder import initialise
from bertlab.model.heads import DEVIATION


class BiLSTMTagger(nn.Module):
    """Labels for the tokens of a sequence, from features that stay as they are."""

    def __init__(self, inputs: int, hidden: int, layers: int, labels: int, dropout: float, seed: int) -> None:
        """`inputs` features a token, `hidden` units a direction. All weights start from `seed`."""
        super().__init__()
        self.noise = Noise(dropout)
        self.recurrent = nn.ModuleList(
            nn.LSTM(inputs if layer == 0 else 2 * hidden, hidden, batch_first=True, bidirectional=True)
            for layer in range(layers)
        )
        self.output = nn.Linear(2 * hidden, labels)
        # An LSTM starts with its gates' inputs at unit scale, 1 / sqrt(N); BERT's 0.02 would starve it.
        initialise(self.recurrent, hidden**-0.5, seed)
        initialise(self.output, DEVIATION, seed)

    def forward(self, features: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, T, D) and the tokens of each row (B,), None for T of all -> logits (B, T, labels), fp32."""
        tokens = features.shape[1]
        x = features
        for layer in self.recurrent:
            x = self.noise.drop(x, self.training)
            if lengths is None:
                x, _ = layer(x)
                continue
            packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
            x, _ = pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=tokens)  # (B, T, 2N)
        logits: Tensor = self.output(self.noise.drop(x, self.training)).float()
        return logits
