"""Heads on the encoder's vectors (Devlin et al. 2019, sections 3.1, 4 and appendix A).

A language model computes logits at the predicted positions only, with the token embeddings as its output matrix; the
encoder computes its last layer only there and at [CLS]. Losses are sums over predictions, in fp32, or in fp64 if the
weights are.

Shapes: B batch, T tokens, K prediction slots per sequence, D hidden, V vocabulary, C classes or labels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.keyed import key
from bertlab.model.attention import eager_on_cpu, gather, real_tokens
from bertlab.model.backbone import Backbone
from bertlab.model.initial import HEAD_STD, initialise
from bertlab.model.kernels.dropout import Dropout, draw_few_bits
from bertlab.model.layers import APPROXIMATE, set_dropout
from bertlab.model.sharing import save_once
from bertlab.model.streams import Lengths, TensorBatch
from bertlab.recipe.objective import INPUTS, attends_causally, bert
from bertlab.text.tokenizers.base import TrainedTokenizer

MANY_LOGITS = 2**22
"""On the CPU, the loss of a batch with more logits is computed in parts: memory traffic costs more than the products. A
left-to-right model with 8,192 entries trains 1.3 times as fast."""
PREDICTIONS_AT_ONCE = 256
"""Predictions of such a part. With fewer, the gradient of the output matrix, which each part adds to, costs more than
the products; the logits of more leave the cache."""

Logits = Callable[[Tensor, Tensor], Tensor]
"""The logits (N, V) of vectors (N, D) with an output matrix (V, E)."""


class LMHead(nn.Module):
    """A language model's transform and output bias; each call passes the output matrix, the token embeddings.

    The transform is from the width of the encoder to that of the embeddings, E (ALBERT's released code).
    """

    def __init__(self, model: recipe.BackboneConfig, vocabulary: int) -> None:
        super().__init__()
        self.approximate = APPROXIMATE[model.activation]
        self.transform = nn.Linear(model.hidden, model.embedding_width, bias=model.biases)
        self.norm = nn.LayerNorm(model.embedding_width, model.layer_norm_eps, bias=model.biases)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, hidden: Tensor, embeddings: Tensor) -> Tensor:
        """Vectors (B, K, D) and the output matrix (V, E) -> logits (B, K, V)."""
        return self._logits(hidden.flatten(0, 1), embeddings).view(*hidden.shape[:2], -1)

    def loss(self, hidden: Tensor, embeddings: Tensor, targets: Tensor, weights: Tensor, sparse: bool) -> Tensor:
        """The sum of the cross-entropies of `targets` (B, K), times `weights` (B, K), at vectors (B, K, D).

        If `sparse`, many weights are 0.
        """
        return vocabulary_loss(self._logits, hidden, embeddings, targets, weights, sparse)

    def transformed(self, x: Tensor) -> Tensor:
        """Vectors (..., D) as those (..., E) whose products with the token embeddings are logits, without the bias."""
        out: Tensor = self.norm(F.gelu(self.transform(x), approximate=self.approximate))
        return out

    def _logits(self, x: Tensor, embeddings: Tensor) -> Tensor:
        return F.linear(self.transformed(x), embeddings, self.bias)


def vocabulary_loss(
    logits: Logits, hidden: Tensor, embeddings: Tensor, targets: Tensor, weights: Tensor, sparse: bool
) -> Tensor:
    """The sum of the cross-entropies of `targets` (B, K), times `weights` (B, K), at vectors (B, K, D).

    Many `logits` are computed in parts, where parts cost nothing. If `sparse`, many weights are 0: those predictions
    are left out where reading the weights costs no wait.
    """
    x, targets, weights = hidden.flatten(0, 1), targets.flatten(), weights.flatten()
    if sparse and eager_on_cpu(weights):
        used = weights.nonzero()[:, 0]
        x, targets, weights = (tensor.index_select(0, used) for tensor in (x, targets, weights))
    rows = len(x)
    if eager_on_cpu(x) and rows * len(embeddings) > MANY_LOGITS:
        rows = PREDICTIONS_AT_ONCE
    parts = zip(*(torch.split(tensor, rows) for tensor in (x, targets, weights)), strict=True)
    losses = [weighted_loss(logits(vectors, embeddings), target, weight) for vectors, target, weight in parts]
    return sum(losses[1:], losses[0])


def weighted_loss(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """The sum of the cross-entropies of `targets` (N,), times `weights` (N,), from logits (N, V)."""
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    losses = F.cross_entropy(wide, targets.long(), reduction="none")
    return torch.dot(losses, weights.to(losses.dtype))


class Pooler(nn.Module):
    """The vector at [CLS] to one of the whole sequence."""

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


class PretrainingModel(nn.Module):
    """The encoder with the heads of an objective, by default BERT's."""

    def __init__(
        self,
        model: recipe.BackboneConfig,
        vocabulary: int,
        max_length: int,
        seed: int,
        objective: Sequence[recipe.Loss] = (),
    ) -> None:
        super().__init__()
        self.objective = tuple(objective) or bert()
        self._divided = any(loss.share < 1 for loss in self.objective)
        self.encoder: Backbone = model.new_encoder(vocabulary, max_length, attends_causally(self.objective))
        heads: dict[str, recipe.Loss] = {}
        for loss in self.objective:
            heads.setdefault(loss.head, loss)
        for name, loss in heads.items():
            self.add_module(name, loss.new_head(model.for_length(max_length), vocabulary))
            loss.tie(self.head(loss), self.encoder)
        save_once(self)
        initialise(self, model.deviation, seed)
        self.described = model
        self.pooler_seed = seed
        """Where a pooler starts if no head has one."""
        self._tokenizer: TrainedTokenizer | None = None

    @classmethod
    def of(cls, science: recipe.Recipe, vocabulary: int) -> PretrainingModel:
        """The model of a recipe, with its initial weights; `vocabulary` is the number of entries."""
        max_length = science.model.max_length(science.inputs.longest)
        return cls(science.model, vocabulary, max_length, science.seed, science.objective)

    @property
    def tokenizer(self) -> TrainedTokenizer | None:
        """What splits its text; None before it has read any."""
        return self._tokenizer

    @tokenizer.setter
    def tokenizer(self, tokenizer: TrainedTokenizer) -> None:
        self._tokenizer = tokenizer
        for module in self.modules():
            if isinstance(module, Backbone):
                module.spell(tokenizer.vocabulary)

    @property
    def pooler(self) -> Pooler:
        """The pooler of a head; if no head has one, a new one, the same for each call."""
        for loss in self.objective:
            pooler = getattr(self.head(loss), "pooler", None)
            if isinstance(pooler, Pooler):
                return pooler
        new = Pooler(self.described.hidden)
        initialise(nn.ModuleDict({"pooler": new}), self.described.deviation, self.pooler_seed)
        return new

    def reinitialise(self, levels: Sequence[nn.Module], seed: int) -> None:
        """Draws the weights of some levels of the encoder and of a pooler of a head anew, as those of a new model."""
        names = {value: name for name, value in self.named_parameters()}
        new = nn.ModuleList([*levels, *(module for module in self.modules() if isinstance(module, Pooler))])
        initialise(new, lambda name: self.described.deviation(names[new.get_parameter(name)]), seed)

    def head(self, loss: recipe.Loss) -> nn.Module:
        """The head of a loss."""
        return self.get_submodule(loss.head)

    def losses(self, batch: TensorBatch) -> dict[str, Tensor]:
        """The sum of each loss over its predictions in a batch, nats, scalars, by the kind of the loss."""
        sums = {loss.kind: torch.zeros((), device=batch.tokens.device) for loss in self.objective}
        for causal, part in self._parts(batch):
            part = self.prepared(part)
            with self.encoder.attending(causal):
                sums |= self._losses(self.encoder.embed(part), part.lengths, part.arrays)
        return sums

    def prepared(self, batch: TensorBatch) -> TensorBatch:
        """What the encoder reads in place of a batch: each loss that has arrays in it prepares it, in turn."""
        for loss in self.objective:
            if loss.kind in batch.arrays:
                batch = loss.prepare(self.head(loss), batch, self.encoder)
        return batch

    def _parts(self, batch: TensorBatch) -> list[tuple[bool, TensorBatch]]:
        """Returns, for each mask of attention, the sequences and arrays of its losses; without losses that divide the
        sequences, the whole batch."""
        if not self._divided:
            return [(self.encoder.causal, batch)]
        parts = []
        for causal in (False, True):
            kinds = [loss.kind for loss in self.objective if loss.causal == causal and loss.kind in batch.arrays]
            flags = {kind: batch.arrays[kind].get("sequences", torch.ones_like(batch.tokens[:, 0])) for kind in kinds}
            flags = {kind: has for kind, has in flags.items() if bool(has.any())}
            if flags:
                rows = torch.stack([*flags.values()]).any(0)
                part = dataclasses.replace(batch, arrays={kind: batch.arrays[kind] for kind in flags})
                parts.append((causal, part if bool(rows.all()) else part.take(rows.nonzero()[:, 0])))
        return parts

    def compile_losses(self, **options: Any) -> None:
        """Compiles `losses` at its first call for each shape, as one graph; the `options` are `torch.compile`'s. A head
        that prepares batches is a graph of its own.

        The embeddings are not compiled: outside, the gradients of an embedding are summed in a fixed order.
        """
        torch.compiler.reset()  # graphs of models before this one count towards a limit
        self._losses = torch.compile(  # type: ignore[method-assign]
            self._losses, fullgraph=True, dynamic=False, **options
        )
        for loss in self.objective:
            if loss.prepares:
                self.head(loss).compile(fullgraph=True, dynamic=False, **options)

    def _losses(
        self, embedded: Mapping[str, Tensor], lengths: Lengths, arrays: Mapping[str, Mapping[str, Tensor]]
    ) -> dict[str, Tensor]:
        """`losses` from the embeddings (B, T, D) of the streams on."""
        losses = [loss for loss in self.objective if loss.kind in arrays]
        hidden = self.encoder.read(embedded, lengths, {loss.kind: loss.reads(arrays[loss.kind]) for loss in losses})
        embeddings = self.encoder.output_embeddings
        return {
            loss.kind: loss.loss_sum(self.head(loss), hidden[loss.kind], arrays[loss.kind], embeddings)
            for loss in losses
        }

    def logits(self, batch: TensorBatch, kind: str, arrays: str = "") -> Tensor:
        """The logits, in fp32, of the loss `kind` in a `prepared` batch, where that loss or the loss `arrays` reads."""
        loss = next(loss for loss in self.objective if loss.kind == kind)
        read_at = {kind: loss.reads(batch.arrays[arrays or kind]), "": None}
        with self.encoder.attending(loss.causal if self._divided else self.encoder.causal):
            hidden = self.encoder.read(self.encoder.embed(batch), batch.lengths, read_at)[kind]
        out: Tensor = self.head(loss)(hidden, self.encoder.output_embeddings)
        return out.float()

    def save(self, path: Path) -> None:
        """Writes the weights as safetensors; the tied output matrix is in it once, as the token embeddings."""
        from safetensors.torch import save

        # `save_file` reports a full disk as an error of its own, not as an `OSError`.
        path.write_bytes(save({name: value.contiguous() for name, value in self.state_dict().items()}))

    def load(self, path: Path) -> None:
        """Reads the weights that `save` wrote. Raises `BadInput` if the file holds a model of another shape."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            self.load_state_dict(load_file(path))
        except (OSError, SafetensorError) as error:
            raise BadInput(f"cannot read weights from {path}: {error}") from None
        except RuntimeError:
            raise BadInput(f"{path} has the weights of another model: load it with the recipe it was made by") from None


class TaskModel(nn.Module):
    """An encoder under dropout and a new output layer, perhaps with a pooler for whole sequences."""

    def __init__(self, encoder: Backbone, pooler: Pooler | None, outputs: int, dropout: float, seed: int) -> None:
        """Takes over `encoder` and `pooler` and sets the dropout of all; the output layer starts from `seed`."""
        super().__init__()
        self.encoder, self.pooler = encoder, pooler
        self.dropout = Dropout()
        set_dropout(self, dropout)
        draw_few_bits(self)
        self.output = nn.Linear(encoder.hidden_size, outputs)
        initialise(self.output, HEAD_STD, seed)

    def summary_position(self, batch: TensorBatch) -> Tensor:
        """(B, 1) the position whose vector represents a sequence: [CLS], or the last token if the encoder is causal."""
        tokens, lengths = batch.streams[INPUTS]
        position = torch.zeros(len(tokens), 1, dtype=torch.long, device=tokens.device)
        if self.encoder.causal:  # [CLS] has seen nothing
            position += tokens.shape[1] - 1 if lengths is None else lengths[:, None] - 1
        return position


class ClassificationModel(TaskModel):
    """A sequence's class, from [CLS] (BERT section 4.1), or from the last token if the encoder is causal."""

    pooler: Pooler

    def forward(self, batch: TensorBatch) -> Tensor:
        """B sequences -> logits (B, C), fp32."""
        x = self.pooler(self.encoder(batch, self.summary_position(batch))[:, 0])
        logits: Tensor = self.output(self.dropout(x)).float()
        return logits


class TaggingModel(TaskModel):
    """A label for each token (BERT section 5.3)."""

    def forward(self, batch: TensorBatch, positions: Tensor | None = None) -> Tensor:
        """B sequences -> logits (B, T, C), fp32; with `positions` (B, K), only at those, (B, K, C)."""
        logits: Tensor = self.output(self.dropout(self.encoder(batch, positions))).float()
        return logits


class SpanModel(TaskModel):
    """Where a span starts and ends: the vectors S and E, dotted with every token (BERT section 4.2).

    With a `pooler` also whether there is one, from [CLS] as a sequence's class (RoBERTa section 3.3).
    """

    def __init__(self, encoder: Backbone, dropout: float, seed: int, pooler: Pooler | None = None) -> None:
        super().__init__(encoder, pooler, 2, dropout, seed)
        if pooler is not None:
            self.answerable = nn.Linear(encoder.hidden_size, 2)
            initialise(self.answerable, HEAD_STD, key(seed, "answerable"))

    def forward(self, batch: TensorBatch) -> Tensor:
        """B sequences -> logits of start and end at every token (B, 2, T), fp32, minus infinity on padding.

        With a pooler (B, 3, T): the last ones are the logits of no and yes, followed by minus infinity.
        """
        states = self.encoder(batch)
        logits: Tensor = self.output(states).float().transpose(1, 2)
        tokens, lengths = batch.streams[INPUTS]
        if lengths is not None:
            padding = ~real_tokens(lengths, tokens.shape[1])
            logits = logits.masked_fill(padding[:, None], -torch.inf)
        if self.pooler is None:
            return logits
        x = gather(states, self.summary_position(batch))
        held = self.answerable(self.dropout(self.pooler(x[:, 0]))).float()
        return torch.cat([logits, F.pad(held, (0, tokens.shape[1] - 2), value=-torch.inf)[:, None]], 1)
