"""The pre-trainings that are measured: those of the scales, in batches that a processor carries."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from bertlab.lab import scales
from bertlab.recipe import Model, Recipe


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The recipe of a scale: its model with its positions and dropout, its vocabulary and its length."""

    scale: str
    batch: int = 0
    """Sequences a step; 0 for those of the scale."""
    fewest: int = 5
    """Steps of a block, at least."""

    @property
    def recipe(self) -> Recipe:
        """What is trained, for longer than anybody measures."""
        found = scales.find(self.scale).recipe
        batch = self.batch or found.schedule.batch_size
        return dataclasses.replace(
            found, schedule=dataclasses.replace(found.schedule, batch_size=batch, steps=1_000_000)
        )

    @property
    def model(self) -> Model:
        """The encoder."""
        return self.recipe.model

    @property
    def vocabulary(self) -> int:
        """Entries of the vocabulary."""
        return self.recipe.tokenizer.vocabulary


TINY = Shape(scale="tiny")
MINI = Shape(scale="mini")
BASE = Shape(scale="base", batch=16, fewest=3)  # a step of the peer takes seconds
