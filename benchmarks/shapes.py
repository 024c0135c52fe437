"""The models that are measured, and how much of them a step trains."""

from __future__ import annotations

from dataclasses import dataclass

from bertlab.recipe import Inputs, Model, Recipe, Schedule


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A model with learned positions and a dropout of 0.1, and a batch of it."""

    layers: int
    hidden: int
    heads: int
    batch: int = 32
    """Sequences a step."""
    length: int = 128
    """Tokens a sequence."""
    fewest: int = 5
    """Steps of a block, at least."""

    @property
    def model(self) -> Model:
        """The encoder."""
        return Model(layers=self.layers, hidden=self.hidden, heads=self.heads, max_positions=512)

    @property
    def recipe(self) -> Recipe:
        """Masked LM and next sentence, for longer than anybody measures."""
        schedule = Schedule(batch_size=self.batch, steps=1_000_000, peak_lr=1e-4)
        return Recipe(model=self.model, inputs=Inputs(length=self.length), schedule=schedule)


TINY = Shape(layers=2, hidden=128, heads=2)
MINI = Shape(layers=4, hidden=256, heads=4)
BASE = Shape(layers=12, hidden=768, heads=12, batch=16, fewest=3)  # a step of the peer takes seconds
