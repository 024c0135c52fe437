"""Several models as one, whose logits are the mean of theirs before the softmax (Raffel et al. 2020, section 3.6)."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from bertlab.model.backbone import Backbone
from bertlab.model.decoding import TextModel
from bertlab.model.streams import TensorBatch


def mean_of(models: Sequence[nn.Module]) -> nn.Module:
    """One model whose logits are the mean of those of several, also while it writes texts."""
    first: Any = models[0]
    if not isinstance(first, TextModel):
        return MeanModel(models)
    joint: Any = JointDecoder([cast(TextModel, model).encoder for model in models])
    return TextModel(joint, 0.0, first.beams)


class MeanModel(nn.Module):
    """The mean of what several models compute of the same inputs."""

    def __init__(self, models: Sequence[nn.Module]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)

    def forward(self, *inputs: Any) -> Tensor:
        """The mean of the outputs."""
        return torch.stack([model(*inputs) for model in self.models]).mean(0)


class JointDecoder(nn.Module):
    """Several backbones with decoders as one. Its vectors are theirs side by side, (B, U, M x D), and its output matrix
    is theirs side by side over M, so that its logits are the mean of theirs, in greedy decoding and in beams too."""

    decodes = True

    def __init__(self, backbones: Sequence[Backbone]) -> None:
        super().__init__()
        self.backbones: Any = nn.ModuleList(backbones)

    @property
    def output_embeddings(self) -> Tensor:
        """The output matrix (V, M x D)."""
        return torch.cat([backbone.output_embeddings for backbone in self.backbones], -1) / len(self.backbones)

    @property
    def output_bias(self) -> Tensor | None:
        """The mean of the biases (V,); None if they have none."""
        biases = [backbone.output_bias for backbone in self.backbones]
        return None if biases[0] is None else torch.stack(biases).mean(0)

    def embed(self, batch: TensorBatch) -> list[dict[str, Tensor]]:
        """What each backbone reads."""
        return [backbone.embed(batch) for backbone in self.backbones]

    def read(self, embedded: Sequence[Mapping[str, Tensor]], lengths: Any, read_at: Any) -> dict[str, Tensor]:
        """The vectors, see `Backbone.read`."""
        pairs = zip(self.backbones, embedded, strict=True)
        vectors = [backbone.read(inputs, lengths, read_at) for backbone, inputs in pairs]
        return {name: torch.cat([of_one[name] for of_one in vectors], -1) for name in read_at}

    def begin(self, batch: TensorBatch, steps: int) -> "_States":
        """See `Backbone.begin`."""
        return _States([backbone.begin(batch, steps) for backbone in self.backbones])

    def step(self, tokens: Tensor, state: "_States") -> Tensor:
        """See `Backbone.step`."""
        pairs = zip(self.backbones, state.states, strict=True)
        return torch.cat([backbone.step(tokens, of_one) for backbone, of_one in pairs], -1)


class _States:
    """The state of each backbone in decoding."""

    def __init__(self, states: Sequence[Any]) -> None:
        self.states = states

    def take(self, *rows: Tensor) -> None:
        """Goes on with some rows, see `DecodingState.take`."""
        for state in self.states:
            state.take(*rows)
