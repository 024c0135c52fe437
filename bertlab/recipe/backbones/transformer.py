"""What all transformers have: heads, a feed-forward network, positions."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from bertlab.errors import BadInput
from bertlab.recipe.backbones.base import Activation, BackboneConfig, Size
from bertlab.recipe.identity import with_fields
from bertlab.recipe.ranges import DROPOUT, Range
from bertlab.wording import pluralise

Positions = Literal["learned", "rotary"]
AllPositions = Positions | Literal["relative"]


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(BackboneConfig, ABC):
    """A stack of layers of attention and feed-forward networks: the fields of all kinds."""

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
        **BackboneConfig._returns,
        "feedforward": Annotated[int, Range(1, 10**7)],
        "positions": AllPositions,
        "segments": Annotated[int, Range(0, 1000)],
        "init_std": Annotated[float, Range(0, 10, above=True)],
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        size, rest = divmod(self.hidden, self.heads)
        if rest:
            sizes = f"model.hidden is {self.hidden} and model.heads {self.heads}"
            raise BadInput(f"{sizes}: hidden must be a multiple of heads")
        if self.positions == "rotary" and size % 2:
            raise BadInput(f"model.positions is rotary with heads of {size}: rotary needs an even head size")

    @property
    @abstractmethod
    def positions(self) -> AllPositions:
        """How it distinguishes positions."""

    @property
    @abstractmethod
    def segments(self) -> int:
        """Segments that have embeddings of their own; 0 without such embeddings."""

    def scaled(self, size: Size) -> Self:
        """The model in this size, with at least one layer and one head."""
        across = max(1, round(size.width * self.heads))
        hidden = across * (self.hidden // self.heads)
        intermediate = max(min(1, self.intermediate), round(self.intermediate * hidden / self.hidden))
        layers, heads = max(1, round(size.layers * self.layers)), max(1, int(size.heads * across))
        scaled = replace(self, layers=layers, heads=heads, hidden=hidden, intermediate=intermediate)
        if size.embeddings == 1:
            return scaled
        width = max(1, round(size.embeddings * scaled.embedding_width))
        return with_fields(scaled, {"embedding_size": width}, "model.")

    def narrowed(self, width: float) -> Self:
        """The model at this share of its width, rounded, with heads of the same size where it has several."""
        heads = max(1, round(width * self.heads))
        size = 2 * max(1, round(width * self.hidden / (2 * heads)))  # even, for rotary positions
        return replace(self, heads=heads, hidden=heads * size, intermediate=round(width * self.intermediate))

    def max_length(self, longest: int) -> int:
        """Rows of the position table."""
        return self.max_positions or max(128, longest)

    def for_length(self, longest: int) -> Self:
        """The model with a position table for at most `longest` tokens."""
        return replace(self, max_positions=self.max_length(longest))

    @property
    def shape(self) -> str:
        """Layers, width and heads."""
        return f"{super().shape}, {pluralise(self.heads, 'head')}"

    @property
    def description(self) -> str:
        """The shape and the kind of positions."""
        return f"{self.shape}, {self.positions} positions"

    @property
    def remark(self) -> str:
        """Why positions are not BERT's."""
        reason = "a small masked LM with learned positions stays on the unigram plateau"
        return f"Positions are rotary, where BERT's are learned: {reason}." if self.positions == "rotary" else ""

    @property
    def sizes(self) -> dict[str, float]:
        """Layers, width, heads, embeddings."""
        sizes = super().sizes
        return {"layers": sizes.pop("layers"), "width": sizes.pop("width"), "heads": self.heads, **sizes}

    @property
    def feedforward(self) -> int:
        """Width of the feed-forward layer."""
        return self.intermediate or 4 * self.hidden

    @property
    def init_std(self) -> float:
        """Standard deviation of the truncated normal that all weights start from."""
        return 0.02 * math.sqrt(768 / self.hidden) if self.initialisation == "width" else 0.02

    def deviation(self, name: str) -> float | tuple[float, ...]:
        """The same for all weights."""
        return self.init_std
