"""Heads: what is asked of the encoder's vectors (Devlin et al. 2019, sections 3.1, 4 and appendix A).

A language model computes logits at the predicted positions only, with the token embeddings as its output matrix; the
encoder's last layer is then computed only there and at [CLS]. Losses are sums over predictions, in fp32, or in fp64
where the weights are.

Shapes: B batch, T tokens, K prediction slots a sequence, D hidden, V vocabulary, C classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from bertlab.recipe.objective import bert


class LMHead(nn.Module):
    """A language model's transform and output bias; the output matrix is the token embeddings, lent at each call."""

    def __init__(self, hidden: int, vocabulary: int) -> None:
        super().__init__()
        self.transform = nn.Linear(hidden, hidden)
        self.norm = nn.LayerNorm(hidden, EPSILON)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, hidden: Tensor, embeddings: Tensor) -> Tensor:
        """Vectors (B, K, D) and the output matrix (V, D) -> logits (B, K, V)."""
        logits = F.linear(self._transformed(hidden.flatten(0, 1)), embeddings, self.bias)
        return logits.view(*hidden.shape[:2], -1)

    def loss(self, hidden: Tensor, embeddings: Tensor, targets: Tensor, weights: Tensor, sparse: bool) -> Tensor:
        """The sum of the cross-entropies of `targets` (B, K), times `weights` (B, K), at vectors (B, K, D).

        `sparse` says that many weights are 0; their number is then read where that costs no wait.
        """
        x, targets, weights = hidden.flatten(0, 1), targets.flatten(), weights.flatten()
        if sparse and eager_on_cpu(weights):
            real = weights.nonzero()[:, 0]
            x, targets, weights = (each.index_select(0, real) for each in (x, targets, weights))
        return linear_cross_entropy(self._transformed(x), embeddings, self.bias, targets, weights)

    def _transformed(self, x: Tensor) -> Tensor:
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


class PairHead(nn.Module):
    """One of two classes of a pair of segments, from [CLS]."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.pooler = Pooler(hidden)
        self.classifier = nn.Linear(hidden, 2)

    def forward(self, hidden: Tensor, embeddings: Tensor | None = None) -> Tensor:
        """Vectors at [CLS] (B, D) -> logits (B, 2)."""
        logits: Tensor = self.classifier(self.pooler(hidden))
        return logits

    def loss(self, hidden: Tensor, labels: Tensor) -> Tensor:
        """The sum of the cross-entropies of `labels` (B,), at vectors at [CLS] (B, D)."""
        logits = self(hidden).to(self.classifier.weight.dtype)
        return F.cross_entropy(logits, labels.long(), reduction="sum")


@dataclass(frozen=True)
class TensorBatch:
    """A batch on a device: see `bertlab.inputs.collator.Batch`."""

    tokens: Tensor
    segments: Tensor
    lengths: Tensor | None
    """None if there is no padding."""
    arrays: Mapping[str, Mapping[str, Tensor]]

    def take(self, low: int, high: int) -> TensorBatch:
        """The sequences from `low` up to `high`."""
        lengths = None if self.lengths is None else self.lengths[low:high]
        arrays = {kind: {name: value[low:high] for name, value in each.items()} for kind, each in self.arrays.items()}
        return TensorBatch(self.tokens[low:high], self.segments[low:high], lengths, arrays)


class PretrainingModel(nn.Module):
    """The encoder with the heads of an objective."""

    def __init__(
        self, model: recipe.Model, vocabulary: int, positions: int, seed: int, objective: Sequence[recipe.Loss] = ()
    ) -> None:
        """Without an `objective`, that of BERT."""
        super().__init__()
        self.objective = tuple(objective) or bert()
        self.encoder = Encoder(model, vocabulary, positions, any(loss.causal for loss in self.objective))
        for loss in self.objective:
            if not hasattr(self, loss.head):
                self.add_module(loss.head, loss.new_head(model, vocabulary))
        initialise(self, model.init_std, seed)
        self._described, self._seed = model, seed

    @classmethod
    def of(cls, science: recipe.Recipe, vocabulary: int) -> PretrainingModel:
        """The model of a recipe with a vocabulary of so many entries, its weights as they start."""
        positions = science.model.positions_for(science.inputs.longest)
        return cls(science.model, vocabulary, positions, science.seed, science.objective)

    @property
    def pooler(self) -> Pooler:
        """The pooler that a head trained; if there is none, a new one, the same for each call."""
        for loss in self.objective:
            pooler = getattr(self.head(loss), "pooler", None)
            if isinstance(pooler, Pooler):
                return pooler
        new = Pooler(self._described.hidden)
        initialise(nn.ModuleDict({"pooler": new}), self._described.init_std, self._seed)
        return new

    def head(self, loss: recipe.Loss) -> nn.Module:
        """The head of a loss of the objective."""
        return self.get_submodule(loss.head)

    def losses(self, batch: TensorBatch) -> dict[str, Tensor]:
        """The sum of each loss of the objective over its predictions in a batch, nats, scalars, by its kind."""
        return self._losses(self.encoder.embeddings(batch.tokens, batch.segments), batch.lengths, batch.arrays)

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
        self, x: Tensor, lengths: Tensor | None, arrays: Mapping[str, Mapping[str, Tensor]]
    ) -> dict[str, Tensor]:
        """`losses` from the embeddings `x` (B, T, D) on."""
        places = {loss.kind: loss.positions(arrays[loss.kind]) for loss in self.objective}
        hidden = self._read(x, lengths, places)
        embeddings = self.encoder.embeddings.tokens.weight
        return {
            loss.kind: loss.sum(self.head(loss), hidden[loss.kind], arrays[loss.kind], embeddings)
            for loss in self.objective
        }

    def logits(self, batch: TensorBatch, kind: str, arrays: str = "") -> Tensor:
        """What the head of the loss `kind` predicts in a batch, in fp32; `arrays` names whose arrays it reads there."""
        loss = next(each for each in self.objective if each.kind == kind)
        x = self.encoder.embeddings(batch.tokens, batch.segments)
        places = {kind: loss.positions(batch.arrays[arrays or kind]), "": None}
        hidden = self._read(x, batch.lengths, places)[kind]
        out: Tensor = self.head(loss)(hidden, self.encoder.embeddings.tokens.weight)
        return out.float()

    def _read(self, x: Tensor, lengths: Tensor | None, places: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        """The last layer's vectors at each of `places` (B, K), (B, K, D), or at [CLS], (B, D), for None.

        The last layer is computed there only.
        """
        read = [each for each in places.values() if each is not None]
        first = any(each is None for each in places.values())
        if first:  # [CLS] is position 0
            read = [x.new_zeros((len(x), 1), dtype=torch.long), *read]
        x = self.encoder.encode(x, lengths, torch.cat(read, 1))  # (B, R, D)
        found, end = {}, int(first)
        for name, each in places.items():
            begin, end = end, end + (0 if each is None else each.shape[1])
            found[name] = x[:, 0] if each is None else x[:, begin:end]
        return found

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
