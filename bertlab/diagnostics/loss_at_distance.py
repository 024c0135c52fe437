"""How wide an optimum is: the loss at a distance from it along random directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated

from bertlab import keyed
from bertlab.diagnostics.base import Diagnostic, TrainedModel
from bertlab.diagnostics.directions import Normalisation, moved, random_direction, trained_weights
from bertlab.recipe.ranges import Range


@dataclass(frozen=True, kw_only=True)
class LossAtDistance(Diagnostic):
    """The training loss at the end of training, and its mean at a distance from there along random directions.

    The directions are the same for all models of one seed and shape.
    """

    kind = "loss-at-distance"
    metrics = ("optimum_loss", "distance_loss")

    distance: Annotated[float, Range(0, 1000, above=True)] = 1.0
    """The length of a step in units of a direction."""
    directions: Annotated[int, Range(1, 1000)] = 8
    """Random directions, over which the loss is averaged; each is walked both ways."""
    normalised: Normalisation = "filter"
    """`filter`: each row of a matrix is as long as that row of the weights, and vectors do not move (Li et al. 2018).
    `plain`: all weights that are trained move, and a direction has Euclidean length 1."""

    def measure(self, trained: TrainedModel) -> Mapping[str, float]:
        """Both losses (nats)."""
        weights, losses = trained_weights(trained.model), list[float]()
        for number in range(self.directions):
            direction = random_direction(weights, keyed.key(*trained.key, "direction", number), self.normalised)
            for length in (self.distance, -self.distance):
                with moved(weights, (direction, length)):
                    losses.append(trained.loss())
        return {"optimum_loss": trained.loss(), "distance_loss": fmean(losses)}
