"""Selections of the tokens to predict, one file per way to choose; a `Corruption` replaces these tokens."""

from bertlab.objectives.selection.base import Choice as Choice
from bertlab.objectives.selection.base import Chooser as Chooser
from bertlab.objectives.selection.base import Selection as Selection
from bertlab.objectives.selection.base import chosen as chosen
from bertlab.objectives.selection.base import slots as slots
from bertlab.objectives.selection.entities import Entities as Entities
from bertlab.objectives.selection.geometric_spans import GeometricSpans as GeometricSpans
from bertlab.objectives.selection.ngrams import NGrams as NGrams
from bertlab.objectives.selection.noun_phrases import NounPhrases as NounPhrases
from bertlab.objectives.selection.random_spans import RandomSpans as RandomSpans
from bertlab.objectives.selection.tokens import Tokens as Tokens
from bertlab.objectives.selection.whole_words import WholeWords as WholeWords
