"""Selections of the tokens to predict, one file per way to choose; a `Corruption` replaces these tokens."""

from bertlab.objectives.selection.base import Choice, Chooser, Selection, chosen, slots
from bertlab.objectives.selection.entities import Entities
from bertlab.objectives.selection.geometric_spans import GeometricSpans
from bertlab.objectives.selection.ngrams import NGrams
from bertlab.objectives.selection.noun_phrases import NounPhrases
from bertlab.objectives.selection.tokens import Tokens
from bertlab.objectives.selection.whole_words import WholeWords

__all__ = [
    "Choice",
    "Chooser",
    "Entities",
    "GeometricSpans",
    "NGrams",
    "NounPhrases",
    "Selection",
    "Tokens",
    "WholeWords",
    "chosen",
    "slots",
]
