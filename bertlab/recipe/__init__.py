"""Recipes of pre-trainings: frozen dataclasses, the ranges of their fields, their ids and their cost. No torch."""

from bertlab.recipe.objective import Loss, Pairing
from bertlab.recipe.recipe import (
    OPTIONS,
    SEED,
    Corpus,
    Format,
    Inputs,
    Model,
    Optimizer,
    Positions,
    Recipe,
    Schedule,
    Source,
)
from bertlab.recipe.tokenizer import Tokenizer

__all__ = [
    "OPTIONS",
    "SEED",
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
