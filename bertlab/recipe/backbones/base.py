"""The protocol of a backbone: what the rest of a recipe, plans and reports know of a model beside its heads."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from bertlab.errors import BadInput
from bertlab.recipe.ranges import SIZE, WORK, Arm, Checked, Range
from bertlab.wording import pluralise

Activation = Literal["gelu", "gelu_new"]
Multiple = Annotated[float, Range(0.001, 1000)]
"""A factor on a size of the scale."""


@dataclass(frozen=True, kw_only=True)
class Size(Checked, group="size"):
    """The size of a model in multiples of the scale's, so that a variant at scale paper has the paper's size."""

    layers: Multiple = 1.0
    """Layers, rounded; at least one."""
    heads: Multiple = 1.0
    """Attention heads of the same total width."""
    width: Multiple = 1.0
    """The width, in a transformer by attention heads of the same size each, and with it `model.intermediate`."""
    embeddings: Multiple = 1.0
    """The width of the embeddings, which is that of the model unless `model.embedding_size` is set."""
    vocabulary: Multiple = 1.0
    """The entries of the vocabulary."""


@dataclass(frozen=True, kw_only=True)
class BackboneConfig(Arm, ABC, home="bertlab.recipe.backbones", path="model"):
    """What turns tokens into vectors: `Model` is BERT's encoder. One file a backbone in `bertlab.recipe.backbones`;
    its modules are in `bertlab.model`, and nothing else asks which kind a recipe has."""

    encoder: ClassVar[str]
    """The module and the class of what `new_encoder` makes, a `bertlab.model.backbone.Backbone`."""
    biases: ClassVar[bool] = True
    """Whether linear layers and normalisations have biases, in the LM head too."""
    apart: ClassVar[bool] = False
    """Whether a vector is [left-to-right half; right-to-left half], each of which has seen one side alone."""
    compiled: ClassVar[bool] = True
    """Whether `torch.compile` can make one graph of it."""
    decoder_made: ClassVar[bool] = False
    """Whether layers of a decoder can be made of its own, which are blocks of `bertlab.model.layers`."""
    layers: Annotated[int, Range(1, 200)] = 12
    """Levels above the embeddings."""
    hidden: Annotated[int, Range(1, 65_536)] = 768
    """Features of each vector."""
    _returns: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(("embedding_width", "max_length"), Annotated[int, Range(1, 10**9)]),
        **dict.fromkeys(("encoder", "shape", "description", "remark"), str),
        **dict.fromkeys(
            ("declared", "unshared", "scaled", "narrowed", "as_large_as", "for_length"), "bertlab.recipe.BackboneConfig"
        ),
        **dict.fromkeys(("biases", "apart", "compiled", "decoder_made"), bool),
        "new_encoder": "bertlab.model.backbone.Backbone",
        "activation": Activation,
        "sizes": Mapping[str, float],
        "parameters": Annotated[int, SIZE],
        **dict.fromkeys(("flops_per_token", "decoder_flops"), Annotated[float, WORK]),
        "deviation": Annotated[float | tuple[float, ...], Range(0, 10, above=True)],
        "layer_norm_eps": Annotated[float, Range(1e-15, 0.1)],
    }

    def check(self, causal: bool) -> None:
        """Raises `BadInput` for objectives that it cannot have: those in which no token sees a later one (`causal`), or
        those in which tokens do."""

    def check_decoding(self, kind: str, over_inputs: bool) -> None:
        """Raises `BadInput` if it has no decoder for a loss of this `kind`, or, `over_inputs`, if its inputs cannot be
        predicted as well, each token from those before it."""
        raise BadInput(f"objective: {kind} needs a decoder, and a model of the kind {self.kind} has none: set model=t5")

    @abstractmethod
    def parameters(self, vocabulary: int, max_length: int) -> int:
        """Parameters of the backbone for sequences of at most `max_length` tokens, token embeddings included."""

    @abstractmethod
    def flops_per_token(self, length: int, causal: bool) -> float:
        """Operations of the forward pass on one token, in sequences of `length` tokens."""

    def decoder_flops(self, inputs: float, outputs: float) -> float:
        """Operations of the forward pass on `outputs` tokens that a decoder writes of `inputs` tokens, beside those of
        `flops_per_token` on the inputs."""
        return 0.0

    @property
    def declared(self) -> Self:
        """The same model without fields that change nothing."""
        return self

    @property
    def unshared(self) -> Self:
        """The model that computes the same with parameters of its own in each layer."""
        return self

    def scaled(self, size: Size) -> Self:
        """The model in this size, with at least one layer. Raises `BadInput` for a multiple that it has not."""
        for name in ("heads", "embeddings"):
            if getattr(size, name) != 1:
                raise BadInput(f"size.{name} has no effect on a model of the kind {self.kind}: leave it out")
        layers, hidden = max(1, round(size.layers * self.layers)), max(1, round(size.width * self.hidden))
        return replace(self, layers=layers, hidden=hidden)

    def narrowed(self, width: float) -> Self:
        """The model at this share of its width, with as many layers and, if that is possible, its token embeddings."""
        return self.scaled(Size(width=width))

    def as_large_as(self, other: "BackboneConfig") -> Self:
        """The model in a study at a scale whose model is `other`, if a size of it that is not set follows from that."""
        return self

    def max_length(self, longest: int) -> int:
        """The tokens of the longest sequence that it can read if its pre-training has at most `longest`."""
        return 10**6

    def for_length(self, longest: int) -> Self:
        """The same model in a recipe with shorter sequences."""
        return self

    @property
    def shape(self) -> str:
        """The size in words, for plans and reports."""
        return f"{pluralise(self.layers, 'layer')}, {self.hidden} wide"

    @property
    def description(self) -> str:
        """The shape, and what else a report says of the backbone."""
        return self.shape

    @property
    def remark(self) -> str:
        """What a report has to say of models of this kind, in whole sentences; empty for nothing."""
        return ""

    @property
    def sizes(self) -> dict[str, float]:
        """The sizes by name; reports show those that variants multiply."""
        return {"layers": self.layers, "width": self.hidden, "embeddings": self.embedding_width / self.hidden}

    @property
    def embedding_width(self) -> int:
        """Width of the token embeddings, which are the output matrix of language models, too."""
        return self.hidden

    @property
    def activation(self) -> Activation:
        """The activation, in the LM head too."""
        return "gelu"

    @property
    def layer_norm_eps(self) -> float:
        """What LayerNorm adds to the variance, in the LM head too."""
        return 1e-12

    def deviation(self, name: str) -> float | tuple[float, ...]:
        """The standard deviation of the truncated normal that the weight called `name` in the pre-training model starts
        from; several if it stacks as many matrices. 0.02 in BERT."""
        return 0.02

    def new_encoder(self, vocabulary: int, max_length: int, causal: bool = False) -> Any:
        """Returns a new module for sequences of at most `max_length` tokens, with torch's initial weights."""
        module, _, name = self.encoder.rpartition(".")
        return getattr(importlib.import_module(module), name)(self, vocabulary, max_length, causal)
