"""How gradients become updates: one file an optimiser, behind the protocol `bertlab.recipe.Optimizer`."""

from bertlab.optimizers.adafactor import Adafactor
from bertlab.optimizers.adamw import AdamW
from bertlab.optimizers.lamb import LAMB
from bertlab.optimizers.muon import Muon

__all__ = ["LAMB", "Adafactor", "AdamW", "Muon"]
