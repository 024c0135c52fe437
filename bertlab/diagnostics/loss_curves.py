"""How the training loss falls, and whether the loss on held-out examples rises again."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from bertlab.diagnostics.base import Diagnostic, TrainedModel
from bertlab.recipe.ranges import Range


@dataclass(frozen=True, kw_only=True)
class LossCurves(Diagnostic):
    """The loss over the steps: on the training examples of each step, and on held-out ones.

    `average_loss` is the mean training loss over all steps: the lower, the faster the training. `heldout_loss` is that
    of evaluation examples at the end, and `rise_loss` how far that is above its lowest point.
    """

    kind = "loss-curves"
    metrics = ("average_loss", "heldout_loss", "rise_loss")

    points: Annotated[int, Range(1, 100)] = 20
    """How often the held-out loss is measured, after about equal parts of the steps."""

    @property
    def heldout_points(self) -> int:
        """As many as the field says: `points`, at which the training stops."""
        return self.points

    def measure(self, trained: TrainedModel) -> Mapping[str, float]:
        """The losses (nats)."""
        ends = [0.0, *(point["step"] for point in trained.curve)]
        steps = [end - begin for begin, end in itertools.pairwise(ends)]
        total = sum(number * point["loss"] for number, point in zip(steps, trained.curve, strict=True))
        heldout = [point["heldout_loss"] for point in trained.curve if "heldout_loss" in point]
        return {
            "average_loss": total / sum(steps),
            "heldout_loss": heldout[-1],
            "rise_loss": heldout[-1] - min(heldout),
        }
