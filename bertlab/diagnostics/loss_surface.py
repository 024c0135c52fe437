"""The training loss on a plane through the start and the end of a training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from bertlab import keyed
from bertlab.diagnostics.base import Diagnostic, TrainedModel
from bertlab.diagnostics.directions import moved, random_direction, trained_weights
from bertlab.recipe.ranges import Range
from bertlab.store.result import Surface


@dataclass(frozen=True, kw_only=True)
class LossSurface(Diagnostic):
    """The training loss on a plane, for a figure.

    One axis is the line from the weights before training (0) to those after it (1), the other one a random
    filter-normalised direction (Li et al. 2018), the same for all models of one seed and shape. Hao et al. (2019) draw
    the loss on planes as well; these axes are not theirs.
    """

    kind = "loss-surface"
    metrics = ()

    points: Annotated[int, Range(2, 101)] = 13
    """Points along each axis, evenly from -0.5 to 1.5 and from -1 to 1."""

    def surface(self, trained: TrainedModel) -> Surface:
        """The loss at each point (nats)."""
        weights, before = trained_weights(trained.model), trained_weights(trained.start)
        path = {name: (value - before[name].to(value)).detach() for name, value in weights.items()}
        across = random_direction(weights, keyed.key(*trained.key, "surface"), "filter")
        steps = [number / (self.points - 1) for number in range(self.points)]
        along, sideways = [2.0 * step - 0.5 for step in steps], [2.0 * step - 1.0 for step in steps]
        losses = []
        for y in sideways:
            row = []
            for x in along:
                with moved(weights, (path, x - 1.0), (across, y)):
                    row.append(trained.loss())
            losses.append(tuple(row))
        return Surface(along=tuple(along), sideways=tuple(sideways), losses=tuple(losses))
