"""The feature-based approach (BERT section 5.3): a BiLSTM tagger on activations of the frozen encoder at the first
sub-token of each word. The encoder reads every example once; only the tagger is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal, Self, cast, get_args

from bertlab import keyed
from bertlab.adaptation.base import EVALUATION_TOKENS, Adaptation, Inputs, tensors
from bertlab.arrays import Integer
from bertlab.progress import stop_if_asked
from bertlab.recipe import cost
from bertlab.recipe.backbones.base import BackboneConfig
from bertlab.recipe.ranges import SHARE, Range
from bertlab.recipe.recipe import Decay, Epochs, Rate
from bertlab.tasks.examples import Examples, TaskBatch, by_length
from bertlab.tasks.kinds.base import TaskKind

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.machine import Machine
    from bertlab.model.heads import PretrainingModel
    from bertlab.progress import Progress

Layers = Literal["embeddings", "second-to-last", "last", "sum-last-four", "concatenate-last-four", "sum-all"]


@dataclass(frozen=True, kw_only=True)
class Features(Adaptation):
    """Trains a BiLSTM tagger on frozen activations."""

    kind = runs = "features"
    description = "frozen features"
    stage = "training on features"
    intermediate = False
    reads_once = True
    trained_share = 0.4
    """The BiLSTM of the paper on four concatenated layers."""

    epochs: Epochs = 10.0
    """Passes over the training examples; BERT's section 5.3 gives no number."""
    peak_lr: Rate = 1e-3
    """Learning rate of the tagger at the end of the warm-up; BERT's section 5.3 gives none."""
    warmup: Annotated[float, SHARE] = 0.05
    """Share of the steps in which that rate rises linearly; afterwards it falls linearly to 0."""
    weight_decay: Decay = 0.0
    """Weight decay of the tagger, the only part that is trained; multiplied by the learning rate."""
    layers: Layers = "concatenate-last-four"
    """The levels of the encoder that represent a word: one, several concatenated, or their learned weighted sum."""
    lstm_layers: Annotated[int, Range(1, 16)] = 2
    """Layers of the BiLSTM; two in BERT (section 5.3)."""
    lstm_size: Annotated[int, Range(0, 65_536)] = 0
    """Units per direction; 0 for the width of the encoder (BERT: 768)."""

    def levels(self, layers: int) -> range:
        """The levels that represent a word in an encoder with `layers` layers: 0 is the embeddings."""
        first, last = {
            "embeddings": (0, 0),
            "second-to-last": (layers - 1, layers - 1),
            "last": (layers, layers),
            "sum-last-four": (max(1, layers - 3), layers),
            "concatenate-last-four": (max(1, layers - 3), layers),
            "sum-all": (1, layers),
        }[self.layers]
        return range(first, last + 1)

    def in_model(self, layers: int) -> Self:
        """The setting with the first name of `Layers` that gives the same levels: the last four of four are all."""

        def representation(features: Features) -> tuple[range, bool]:
            return features.levels(layers), features.layers.startswith("sum")

        named = (replace(self, layers=name) for name in get_args(Layers))
        return next(candidate for candidate in named if representation(candidate) == representation(self))

    @classmethod
    def at_scale(cls, finetuning: Adaptation, features: Adaptation) -> Self:
        """The scale's own setting."""
        return cast(Self, features)

    @classmethod
    def group(cls, kind: TaskKind) -> str:
        """The same group for all kinds."""
        return "features"

    def unsupported_reason(self, kind: TaskKind) -> str:
        """The feature-based approach tags words only."""
        if not kind.per_token:
            return f"the feature-based approach tags words, its task is {kind.name}: use FineTuning"
        return super().unsupported_reason(kind)

    def adapt(
        self, model: PretrainingModel, kind: TaskKind, labels: Sequence[str], key: Sequence[int | str]
    ) -> nn.Module:
        """The tagger, without the encoder."""
        from bertlab.model.recurrent import BiLSTMTagger

        hidden, levels = model.encoder.hidden_size, len(self.levels(model.encoder.num_layers))
        units, summed = self.lstm_size or hidden, levels if self.layers.startswith("sum") else 0
        seed = keyed.key(*key, "head")
        return BiLSTMTagger(levels * hidden, units, self.lstm_layers, len(labels), self.dropout, seed, summed)

    def inputs(self, model: PretrainingModel, part: Examples, machine: Machine, progress: Progress) -> Inputs:
        """The activations at the first sub-token of each word, (W, levels x D) on the CPU, in fp32 on every machine."""
        import torch

        from bertlab.model.attention import gather

        levels, encoder = self.levels(model.encoder.num_layers), model.encoder.to(machine.device).eval()
        features = torch.empty(len(part.targets), len(levels) * encoder.hidden_size)
        done = 0
        with torch.inference_mode():
            for indices in by_length(part.lengths, EVALUATION_TOKENS):
                stop_if_asked()
                batch = part.batch(indices)
                parts = {name: value.to(machine.device) for name, value in tensors(batch).items()}
                states = encoder.hidden_states(parts["inputs"])
                vectors = torch.cat([gather(states[level], parts["positions"]) for level in levels], dim=-1)
                slots = torch.from_numpy(batch.slots)
                features[slots[slots >= 0]] = vectors.cpu()[slots >= 0]
                done += len(indices)
                progress(done, len(part), "reading features")

        def build(indices: Integer) -> TaskBatch:
            batch = part.batch(indices)
            slots = torch.from_numpy(batch.slots)
            vectors = features.index_select(0, slots.clamp(min=0).flatten()).view(*slots.shape, features.shape[1])
            targets = torch.from_numpy(batch.targets).long()
            return {"features": vectors, "words": (slots >= 0).sum(1), "targets": targets}

        return Inputs(part.counts, build, EVALUATION_TOKENS)

    def logits(self, model: nn.Module, kind: TaskKind, batch: TaskBatch) -> Tensor:
        """(B, K, C) at the words of a batch."""
        logits: Tensor = model(batch["features"], batch["words"])
        return logits

    def flops(
        self, model: BackboneConfig, trained: float, evaluated: float, passes: float, *, causal: bool = False
    ) -> float:
        """One forward pass of the encoder per token, and three of the tagger in each epoch."""
        forward = model.flops_per_token(self.length, causal)
        levels = 1 if self.layers.startswith("sum") else len(self.levels(model.layers))
        tagger = cost.recurrent_flops(levels * model.hidden, self.lstm_size or model.hidden, self.lstm_layers)
        return (trained + evaluated) * forward + (3.0 * passes * trained + evaluated) * tagger
