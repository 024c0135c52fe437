"""What defines a training run: frozen dataclasses, their ranges and their identity. No torch."""

from bertlab.recipe.objective import Loss, Pairing
from bertlab.recipe.recipe import (
    OPTIONS,
    SEED,
    Accents,
    Corpus,
    Format,
    Inputs,
    Model,
    Optimizer,
    Positions,
    Recipe,
    Schedule,
    Source,
    Tokenizer,
)

__all__ = [
    "OPTIONS",
    "SEED",
    "Accents",
    "Corpus",
    "Format",
    "Inputs",
    "Loss",
    "Model",
    "Optimizer",
    "Pairing",
    "Positions",
    "Recipe",
    "Schedule",
    "Source",
    "Tokenizer",
]
