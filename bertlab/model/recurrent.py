"""BiLSTMs: a tagger on fixed features, and one between encoder and head (Devlin et al. 2019, sections 5.3 and 5.1).

Sequences are reversed within their lengths. That equals a packed bidirectional LSTM, and padded kernels are faster.

Shapes: B batch, T tokens, K positions that are read, D features, N units per direction.
"""

import torch
from torch import Tensor, nn

from bertlab.keyed import key
from bertlab.model.attention import gather
from bertlab.model.backbone import Backbone, BackboneWrapper
from bertlab.model.initial import HEAD_STD, initialise


def reversal(x: Tensor, lengths: Tensor | None) -> Tensor:
    """The positions (B, T) that reverse each sequence of `x` (B, T, D) within its length; padding keeps its place."""
    position = torch.arange(x.shape[1], device=x.device).expand(len(x), -1)
    last = x.shape[1] - 1 if lengths is None else lengths[:, None] - 1
    return torch.where(position <= last, last - position, position)


class BiLSTM(nn.Module):
    """Layers of LSTMs in both directions; dropout before each."""

    def __init__(self, inputs: int, hidden: int, layers: int, dropout: float, seed: int) -> None:
        """`inputs` features per token, `hidden` units per direction. All weights start from `seed`."""
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        widths = [inputs] + [2 * hidden] * (layers - 1)
        self.rightward = nn.ModuleList(nn.LSTM(width, hidden, batch_first=True) for width in widths)
        self.leftward = nn.ModuleList(nn.LSTM(width, hidden, batch_first=True) for width in widths)
        # 1 / sqrt(N) gives the inputs of the gates unit scale; BERT's 0.02 is too small for an LSTM.
        initialise(self.rightward, hidden**-0.5, seed)
        initialise(self.leftward, hidden**-0.5, key(seed, "leftward"))

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, T, D) and the tokens of each sequence (B,), None for T of each -> (B, T, 2N)."""
        reverse = reversal(x, lengths)
        for rightward, leftward in zip(self.rightward, self.leftward, strict=True):
            x = self.dropout(x)
            right, _ = rightward(x)
            left, _ = leftward(gather(x, reverse))
            x = torch.cat((right, gather(left, reverse)), dim=-1)
        return x


class ScalarMix(nn.Module):
    """The sum of levels with learned weights: a softmax, uniform at first, times a common factor (Peters et al. 2018,
    equation 1)."""

    def __init__(self, levels: int) -> None:
        super().__init__()
        self.shares = nn.Parameter(torch.zeros(levels))
        self.factor = nn.Parameter(torch.ones(()))

    def forward(self, states: Tensor) -> Tensor:
        """(B, T, levels, D) -> (B, T, D)."""
        return self.factor * torch.einsum("btld,l->btd", states, self.shares.softmax(0).to(states.dtype))


class BiLSTMTagger(nn.Module):
    """Labels for the tokens of a sequence, from fixed features."""

    def __init__(
        self, inputs: int, hidden: int, layers: int, labels: int, dropout: float, seed: int, summed: int = 0
    ) -> None:
        """`inputs` features per token, `hidden` units per direction. All weights start from `seed`.

        With `summed`, the features are those of so many levels of an encoder, concatenated: it reads their `ScalarMix`.
        """
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.mix = ScalarMix(summed) if summed else None
        self.recurrent = BiLSTM(inputs // (summed or 1), hidden, layers, dropout, seed)
        self.output = nn.Linear(2 * hidden, labels)
        initialise(self.output, HEAD_STD, seed)

    def forward(self, features: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, T, D) and the tokens of each sequence (B,), None for T of each -> logits (B, T, labels), fp32."""
        x = features
        if self.mix is not None:
            x = self.mix(x.view(*x.shape[:2], len(self.mix.shares), -1))
        x = self.dropout(self.recurrent(x, lengths))
        logits: Tensor = self.output(x).float()
        return logits


class RecurrentEncoder(BackboneWrapper):
    """A backbone under a new two-layer BiLSTM of its width (BERT section 5.1), which belongs to no level."""

    def __init__(self, encoder: Backbone, seed: int) -> None:
        super().__init__(encoder)
        dropout = next((module.p for module in encoder.modules() if isinstance(module, nn.Dropout)), 0.0)
        self.recurrent = BiLSTM(self.hidden_size, self.hidden_size // 2, 2, dropout, seed)

    def encode(self, x: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """The vectors of the BiLSTM: see `Backbone.encode`."""
        x = self.recurrent(self.encoder.encode(x, lengths), lengths)
        return x if positions is None else gather(x, positions)
