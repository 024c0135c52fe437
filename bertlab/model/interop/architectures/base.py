"""The protocol of an architecture: how `transformers` names and arranges what a model of ours has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from bertlab import recipe
from bertlab.recipe.objective import bert
from bertlab.recipe.ranges import arm

if TYPE_CHECKING:
    from torch import Tensor

    from bertlab.model.heads import PretrainingModel
    from bertlab.text.tokenizers.base import TrainedTokenizer


M = TypeVar("M", bound=recipe.TransformerConfig)


class Architecture(ABC, Generic[M]):
    """A family of models of `transformers` that computes what some models of ours compute."""

    kind: ClassVar[str]
    """The `model_type` of config.json."""
    title: ClassVar[str]
    model: type[M]
    """What a recipe calls its encoder."""
    names: ClassVar[Mapping[str, str]]
    """Parts of our parameters' names, and the published ones; `{projection}` is query, key or value."""
    copies: ClassVar[Mapping[str, str]]
    """Published tensors that are copies of our parameters."""
    usual: ClassVar[Mapping[str, Any]]
    """Values of fields that config.json may lack."""
    heads: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """By the end of the name of a class for a task, such as `TokenClassification`, parts of the names of our parameters
    above the encoder, and the published ones; only of classes that compute what ours do."""
    fields: ClassVar[Mapping[str, str]] = {}
    """Fields of config.json that BERT's names otherwise, by BERT's names."""
    unread: ClassVar[tuple[str, ...]] = ()
    """Beginnings of tensors of the encoder that are left out."""
    pad: int | None = None
    """The id of the padding token that its positions depend on; None if they depend on none."""
    first_position: int = 0
    """The row of the position table at which positions begin."""
    lm_head: ClassVar[str] = "lm_head"
    """The module of our model without which its class predicts no tokens."""
    decoder: ClassVar[str] = ""
    """The class of a model of its kind with cross-attention that predicts tokens, if it computes what ours does."""
    rounding: ClassVar[float] = 0.0
    """How far the tensors of `derived` in a checkpoint may be from ours."""

    @property
    def base(self) -> str:
        """The first part of the names of an encoder's tensors."""
        return self.kind.replace("-", "_")

    def padded(self, pad: int) -> Self:
        """The architecture for padding of the id `pad`, where positions depend on it."""
        return self

    @abstractmethod
    def holds(self, model: M, causal: bool) -> bool:
        """Whether it computes exactly what `model` does, causal or not."""

    @abstractmethod
    def name(self, model: PretrainingModel) -> str:
        """The class of `transformers` for a model with these heads."""

    def config(self, model: M) -> dict[str, Any]:
        """The fields of config.json that only this architecture has."""
        return {}

    def token_config(self, tokenizer: TrainedTokenizer) -> dict[str, Any]:
        """The fields of config.json with ids of special tokens, beside that of the padding token."""
        return {}

    @abstractmethod
    def described(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of `model` that not all kinds have."""

    @abstractmethod
    def fixed(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of config.json with the only values that ours can have."""

    def objective(self, causal: bool) -> tuple[recipe.Loss, ...]:
        """The losses whose heads a checkpoint has."""
        return (arm(recipe.Loss, "causal_lm")(),) if causal else bert()

    def task_config(self, head: str) -> dict[str, Any]:
        """The fields of config.json that only one of its `heads` has."""
        return {}

    def task_tensors(self, encoder: Any) -> dict[str, Tensor]:
        """Published tensors between the encoder and the last layer of a task, where ours has nothing."""
        return {}

    def derived(self, encoder: Any) -> dict[str, Tensor]:
        """Published tensors that are no parameters of ours but follow from its sizes."""
        return {}

    def published(self, name: str, value: Tensor, heads: int) -> Tensor:
        """A parameter of ours in the order of the published tensor `name`."""
        return value

    def ours(self, name: str, value: Tensor, heads: int) -> Tensor:
        """The inverse of `published`."""
        return value

    def parameter(self, ours: str) -> list[str]:
        """The published names of our parameter: three for fused queries, keys and values, otherwise one; none of a head
        that published models lack."""
        modules = {part.partition(".")[0] for part in self.names}
        return self.renamed(ours, self.names) if ours.partition(".")[0] in modules else []

    def renamed(self, ours: str, names: Mapping[str, str]) -> list[str]:
        """`parameter`, by parts of names and the published ones."""
        if not any(part in ours for part in names):
            return []
        for part, theirs in names.items():
            ours = ours.replace(part, theirs)
        projections = ("query", "key", "value")
        return list(dict.fromkeys(ours.format(base=self.base, projection=name) for name in projections))
