"""The protocol of a diagnostic: numbers of the weights and of the loss of a fine-tuned model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bertlab.recipe.ranges import Arm, Range
from bertlab.store.result import Surface

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class TrainedModel:
    """A fine-tuned model, as diagnostics read it."""

    model: nn.Module
    """The model after training. A diagnostic may change its weights, and restores them."""
    start: nn.Module
    """The same model before training."""
    levels: Sequence[tuple[nn.Module, nn.Module]]
    """The embeddings and the layers of its encoder, lowest first, each before and after training; none without an
    encoder."""
    loss: Callable[[], float]
    """The mean loss of the model, with its weights as they are, on training examples, without dropout (nats)."""
    curve: Sequence[Mapping[str, float]]
    """Points of the training: `step`, the mean training `loss` since the point before, and perhaps `heldout_loss`."""
    key: Sequence[int | str]
    """What random numbers follow from."""


@dataclass(frozen=True, kw_only=True)
class Diagnostic(Arm, ABC, home="bertlab.diagnostics"):
    """What is measured of a fine-tuned model beside its answers."""

    _returns: ClassVar[Mapping[str, Any]] = {
        "metrics": tuple[str, ...],
        "heldout_points": Annotated[int, Range(0, 100)],
        "measure": Mapping[str, float],
        "surface": Surface | None,
    }

    @property
    @abstractmethod
    def metrics(self) -> tuple[str, ...]:
        """The metrics that a study can report. A name that ends in `_loss` is in nats, one in `_movement` a share."""

    @property
    def heldout_points(self) -> int:
        """How often the training stops for the loss on held-out examples; not at all by default."""
        return 0

    def measure(self, trained: TrainedModel) -> Mapping[str, float]:
        """The value of each metric, and of others that the result keeps too."""
        return {}

    def surface(self, trained: TrainedModel) -> Surface | None:
        """A surface for a figure; None by default."""
        return None
