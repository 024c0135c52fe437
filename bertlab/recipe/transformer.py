"""The encoder of a recipe, one file per kind: the fields and the protocol of all kinds."""

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from bertlab.errors import BadInput
from bertlab.recipe.ranges import DROPOUT, SIZE, WORK, Arm, Range
from bertlab.wording import count

Positions = Literal["learned", "rotary"]
Activation = Literal["gelu", "gelu_new"]


@dataclass(frozen=True, kw_only=True)
class Transformer(Arm, ABC, home="bertlab.recipe"):
    """An encoder: the fields and the protocol of all kinds. `Model` is BERT's.

    `bertlab.model` has its modules; nothing else asks which kind a recipe has.
    """

    encoder: ClassVar[str]
    """The module and the class of its encoder, a `bertlab.model.encoder.Stack`."""
    biases: ClassVar[bool] = True
    """Whether linear layers and normalisations have biases, in the LM head too."""
    layers: Annotated[int, Range(1, 200)] = 12
    hidden: Annotated[int, Range(1, 65_536)] = 768
    heads: Annotated[int, Range(1, 65_536)] = 12
    intermediate: Annotated[int, Range(0, 1_000_000)] = 0
    """Width of the feed-forward layer; 0 for four times `hidden`, in ModernBERT one and a half times."""
    activation: Activation = "gelu"
    """GELU with the error function, or `gelu_new`, its approximation by tanh in Google's released code."""
    max_positions: Annotated[int, Range(1, 1_000_000, or_zero=True)] = 0
    """Rows of the position table; 0 for max(128, the longest sequence)."""
    layer_norm_eps: Annotated[float, Range(1e-15, 0.1)] = 1e-12
    """What LayerNorm adds to the variance; 1e-5 in RoBERTa's and ModernBERT's published models."""
    dropout: Annotated[float, DROPOUT] = 0.1
    initialisation: Literal["fixed", "width"] = "fixed"
    """Standard deviation of the initial weights: 0.02, or 0.02 x sqrt(768 / hidden) with `width`."""
    _returns: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(("embedding_width", "feedforward", "positions_for"), Annotated[int, Range(1, 10**7)]),
        **dict.fromkeys(("encoder", "shape"), str),
        **dict.fromkeys(("declared", "unshared"), "bertlab.recipe.Transformer"),
        "biases": bool,
        "positions": Positions,
        "segments": Annotated[int, Range(0, 1000)],
        "parameters": Annotated[int, SIZE],
        "flops_per_token": Annotated[float, WORK],
        "init_std": Annotated[float, Range(0, 10, above=True)],
    }

    def __init_subclass__(cls, home: str = "") -> None:
        super().__init_subclass__(home)
        cls._group = "model."  # as `--set` names its fields

    def __post_init__(self) -> None:
        super().__post_init__()
        size, rest = divmod(self.hidden, self.heads)
        if rest:
            found = f"model.hidden is {self.hidden} and model.heads {self.heads}"
            raise BadInput(f"{found}: hidden must be a multiple of heads")
        if self.positions == "rotary" and size % 2:
            raise BadInput(f"model.positions is rotary with heads of {size}: rotary needs an even head size")

    @property
    @abstractmethod
    def positions(self) -> Positions:
        """How it distinguishes positions."""

    @property
    @abstractmethod
    def segments(self) -> int:
        """Segments that have embeddings of their own; 0 without such embeddings."""

    @abstractmethod
    def parameters(self, vocabulary: int, positions: int) -> int:
        """Parameters of the encoder; `positions` is the size of the position table, which a rotary model lacks."""

    @abstractmethod
    def flops_per_token(self, length: int, causal: bool) -> float:
        """Operations of the forward pass on one token, in sequences of `length` tokens."""

    @property
    def declared(self) -> Self:
        """The model without fields that change nothing."""
        return self

    @property
    def unshared(self) -> Self:
        """The model that computes the same with parameters of its own in each layer."""
        return self

    @property
    def shape(self) -> str:
        """Its size in words, for plans and reports."""
        return f"{count(self.layers, 'layer')}, {self.hidden} wide, {count(self.heads, 'head')}"

    @property
    def embedding_width(self) -> int:
        """Width of the embeddings."""
        return self.hidden

    @property
    def feedforward(self) -> int:
        """Width of the feed-forward layer."""
        return self.intermediate or 4 * self.hidden

    @property
    def init_std(self) -> float:
        """Standard deviation of the truncated normal that weights start from."""
        return 0.02 * math.sqrt(768 / self.hidden) if self.initialisation == "width" else 0.02

    def positions_for(self, length: int) -> int:
        """Rows of the position table for sequences of at most `length` tokens."""
        return self.max_positions or max(128, length)

    def new_encoder(self, vocabulary: int, positions: int, causal: bool = False) -> Any:
        """Its encoder, of at most `positions` tokens, with torch's initial weights."""
        module, _, name = self.encoder.rpartition(".")
        return getattr(importlib.import_module(module), name)(self, vocabulary, positions, causal)
