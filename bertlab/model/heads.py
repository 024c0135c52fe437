"""Heads: what is asked of the encoder's vectors (Devlin et al. 2019, sections 3.1, 4 and appendix A).

The LM, masked or left to right, computes logits at the predicted positions only, with the token embeddings as its
output matrix; the encoder's last layer is then computed only there and at [CLS]. Losses are sums over predictions, in
fp32, or in fp64 where the weights are.

Shapes: B batch, T tokens, K prediction slots a sequence, D hidden, V vocabulary, C classes.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.keyed import key
from bertlab.model.backbone import Backbone
from bertlab.model.dropout import set_dropout
from bertlab.model.encoder import Encoder
from bertlab.model.initial import HEAD_STD, initialise
from bertlab.model.kernels.eager import eager_on_cpu
from bertlab.model.layers import EPSILON, linear_cross_entropy


class MaskedHead(nn.Module):
    """The LM's transform and output bias; the output matrix is the token embeddings, lent at each call."""

    def __init__(self, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.transform = nn.Linear(hidden, hidden)
        self.norm = nn.LayerNorm(hidden, EPSILON)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, x: Tensor) -> Tensor:
        """(N, D) -> (N, D), what the output matrix is multiplied with."""
        out: Tensor = self.norm(F.gelu(self.transform(x)))
        return out


class Pooler(nn.Module):
    """[CLS] as one vector of the sequence."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden, hidden)

    def forward(self, first: Tensor) -> Tensor:
        """(B, D) -> (B, D)."""
        return torch.tanh(self.dense(first))


class PretrainingModel(nn.Module):
    """The encoder with BERT's two heads: masked LM, and whether the second segment follows the first.

    With `causal`, the first is a left-to-right LM: asked for the next token at each position.
    """

    def __init__(self, model: recipe.Model, vocabulary: int, positions: int, seed: int, causal: bool = False) -> None:
        super().__init__()
        self.encoder = Encoder(model, vocabulary, positions, causal)
        self.masked = MaskedHead(model.hidden, vocabulary)
        self.pooler = Pooler(model.hidden)
        self.relation = nn.Linear(model.hidden, 2)
        initialise(self, model.init_std, seed)

    @classmethod
    def of(cls, science: recipe.Recipe, vocabulary: int) -> PretrainingModel:
        """The model of a recipe with a vocabulary of so many entries, its weights as they start."""
        positions = science.model.positions_for(science.inputs.longest)
        return cls(science.model, vocabulary, positions, science.seed, science.objective.causal)

    def losses(
        self,
        tokens: Tensor,
        segments: Tensor,
        lengths: Tensor | None,
        positions: Tensor,
        targets: Tensor,
        weights: Tensor,
        next_sentence: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """The sums of the LM's and of the sentence relation's losses over their predictions, nats, scalars.

        `tokens`, `segments` (B, T), `lengths` (B,); `positions`, `targets`, `weights` (B, K), a slot of weight 0 counts
        for nothing; `next_sentence` (B,), 0 where the second segment follows, or None, which makes the second sum 0.
        """
        x = self.encoder.embeddings(tokens, segments)
        return self._losses(x, lengths, positions, targets, weights, next_sentence)

    def compile_losses(self, graphs: bool = False) -> None:
        """Has `losses` compiled at its first call for each shape, as one graph; with `graphs`, replayed as CUDA graphs.

        The embeddings stay outside: there, gradients of the same row are summed in an order that does not change.
        """
        torch.compiler.reset()  # graphs of models before this one count towards a limit
        mode = "reduce-overhead" if graphs else "default"
        self._losses = torch.compile(  # type: ignore[method-assign]
            self._losses, fullgraph=True, dynamic=False, mode=mode
        )

    def _losses(
        self,
        x: Tensor,
        lengths: Tensor | None,
        positions: Tensor,
        targets: Tensor,
        weights: Tensor,
        next_sentence: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """`losses` from the embeddings `x` (B, T, D) on."""
        at_slots, first = self._read(x, lengths, positions, next_sentence is not None)
        targets, weights = targets.flatten(), weights.flatten()
        if self.encoder.causal and eager_on_cpu(weights):  # slots are empty where rows are padded; their number is read
            real = weights.nonzero()[:, 0]
            at_slots, targets, weights = (each.index_select(0, real) for each in (at_slots, targets, weights))
        masked = linear_cross_entropy(
            self.masked(at_slots), self.encoder.embeddings.tokens.weight, self.masked.bias, targets, weights
        )
        if first is None or next_sentence is None:
            return masked, torch.zeros_like(masked)
        relation = self.relation(self.pooler(first)).to(masked.dtype)
        return masked, F.cross_entropy(relation, next_sentence.long(), reduction="sum")

    def predictions(
        self, tokens: Tensor, segments: Tensor, lengths: Tensor | None, positions: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The logits of the LM at `positions` (B, K, V), and of the sentence relation (B, 2), in fp32."""
        at_slots, first = self._read(self.encoder.embeddings(tokens, segments), lengths, positions, True)
        assert first is not None
        masked = F.linear(self.masked(at_slots), self.encoder.embeddings.tokens.weight, self.masked.bias)
        return masked.float().view(*positions.shape, -1), self.relation(self.pooler(first)).float()

    def _read(self, x: Tensor, lengths: Tensor | None, positions: Tensor, first: bool) -> tuple[Tensor, Tensor | None]:
        """The last layer's vectors at `positions`, (B K, D), and, if asked for, at [CLS], (B, D)."""
        read = F.pad(positions, (1, 0)) if first else positions  # [CLS] is position 0
        x = self.encoder.encode(x, lengths, read)  # (B, K or K + 1, D)
        if not first:
            return x.flatten(0, 1), None
        return x[:, 1:].flatten(0, 1), x[:, 0]

    def save(self, path: Path) -> None:
        """Writes the weights as safetensors; the tied output matrix is there once, as the token embeddings."""
        from safetensors.torch import save

        # Not `save_file`: of a full disk it tells in an error of its own.
        path.write_bytes(save({name: value.contiguous() for name, value in self.state_dict().items()}))

    def load(self, path: Path) -> None:
        """Takes the weights that `save` wrote. Raises `BadInput` if the file is not that of a model of this shape."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            self.load_state_dict(load_file(path))
        except (OSError, SafetensorError) as error:
            raise BadInput(f"cannot read weights from {path}: {error}") from None
        except RuntimeError:
            raise BadInput(f"{path} has the weights of another model: load it with the recipe it was made by") from None


def _summary(tokens: Tensor, lengths: Tensor | None, causal: bool) -> Tensor:
    """(B, 1) the position whose vector stands for a sequence: [CLS], or the last token if the encoder is causal."""
    place = torch.zeros(len(tokens), 1, dtype=torch.long, device=tokens.device)
    if causal:  # [CLS] has seen nothing
        place += tokens.shape[1] - 1 if lengths is None else lengths[:, None] - 1
    return place


class ClassificationModel(nn.Module):
    """A sequence's class, from [CLS] (BERT section 4.1), or from the last token if the encoder is causal."""

    def __init__(self, encoder: Backbone, pooler: Pooler, classes: int, dropout: float, seed: int) -> None:
        """Takes `encoder` and `pooler` over and sets the dropout of all; the output layer starts from `seed`."""
        super().__init__()
        self.encoder, self.pooler = encoder, pooler
        self.dropout = nn.Dropout()
        set_dropout(self, dropout)
        self.output = nn.Linear(encoder.hidden_size, classes)
        initialise(self.output, HEAD_STD, seed)

    def forward(self, tokens: Tensor, segments: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, T), (B, T), (B,) -> logits (B, C), fp32."""
        place = _summary(tokens, lengths, self.encoder.causal)
        x = self.pooler(self.encoder(tokens, segments, lengths, place)[:, 0])
        logits: Tensor = self.output(self.dropout(x)).float()
        return logits


class TaggingModel(nn.Module):
    """A label for each token (BERT section 5.3)."""

    def __init__(self, encoder: Backbone, labels: int, dropout: float, seed: int) -> None:
        """Takes `encoder` over and sets the dropout of all; the output layer starts from `seed`."""
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout()
        set_dropout(self, dropout)
        self.output = nn.Linear(encoder.hidden_size, labels)
        initialise(self.output, HEAD_STD, seed)

    def forward(
        self, tokens: Tensor, segments: Tensor, lengths: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """(B, T), (B, T), (B,) -> logits (B, T, labels), fp32; with `positions` (B, K), those only, (B, K, labels)."""
        x = self.dropout(self.encoder(tokens, segments, lengths, positions))
        logits: Tensor = self.output(x).float()
        return logits


class SpanModel(nn.Module):
    """Where a span starts and ends: the vectors S and E, dotted with every token (BERT section 4.2).

    With a `pooler` also whether there is one, from [CLS] as a sequence's class (RoBERTa section 3.3).
    """

    def __init__(self, encoder: Backbone, dropout: float, seed: int, pooler: Pooler | None = None) -> None:
        """Takes `encoder` over and sets the dropout of all; the two vectors start from `seed`."""
        super().__init__()
        self.encoder, self.pooler = encoder, pooler
        self.dropout = nn.Dropout()
        set_dropout(self, dropout)
        self.output = nn.Linear(encoder.hidden_size, 2)
        initialise(self.output, HEAD_STD, seed)
        if pooler is not None:
            self.answerable = nn.Linear(encoder.hidden_size, 2)
            initialise(self.answerable, HEAD_STD, key(seed, "answerable"))

    def forward(self, tokens: Tensor, segments: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, T), (B, T), (B,) -> logits of start and end at every token (B, 2, T), fp32, minus infinity on padding.

        With a pooler (B, 3, T): at the end those of no and yes, with minus infinity behind them.
        """
        states = self.encoder(tokens, segments, lengths)
        logits: Tensor = self.output(states).float().transpose(1, 2)
        if lengths is not None:
            padding = torch.arange(tokens.shape[1], device=tokens.device) >= lengths[:, None]
            logits = logits.masked_fill(padding[:, None], -torch.inf)
        if self.pooler is None:
            return logits
        x = states.gather(1, _summary(tokens, lengths, self.encoder.causal)[..., None].expand(-1, -1, states.shape[2]))
        held = self.answerable(self.dropout(self.pooler(x[:, 0]))).float()
        return torch.cat([logits, F.pad(held, (0, tokens.shape[1] - 2), value=-torch.inf)[:, None]], 1)
