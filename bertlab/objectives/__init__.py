"""What a model is trained to predict: one file a loss, behind the protocol of `bertlab.recipe.objective`."""

from bertlab.objectives.bidirectional_lm import BidirectionalLM
from bertlab.objectives.causal_lm import CausalLM
from bertlab.objectives.deshuffling import Deshuffling
from bertlab.objectives.generator import TokenGenerator
from bertlab.objectives.masked_lm import Corruption, MaskedLM
from bertlab.objectives.next_sentence import NextSentence
from bertlab.objectives.prefix_lm import PrefixLM
from bertlab.objectives.replaced_tokens import ReplacedTokens
from bertlab.objectives.sampled_lm import SampledLM
from bertlab.objectives.selection import (
    Entities,
    GeometricSpans,
    NGrams,
    NounPhrases,
    RandomSpans,
    Selection,
    Tokens,
    WholeWords,
)
from bertlab.objectives.sentence_order import SentenceOrder
from bertlab.objectives.sequence_to_sequence import SequenceToSequence
from bertlab.objectives.span_boundary import SpanBoundary
from bertlab.objectives.span_corruption import SpanCorruption
from bertlab.recipe.objective import Loss

BERT: tuple[Loss, ...] = (MaskedLM(), NextSentence())
"""What BERT is trained to predict (Devlin et al. 2019, section 3.1)."""

__all__ = [
    "BERT",
    "BidirectionalLM",
    "CausalLM",
    "Corruption",
    "Deshuffling",
    "Entities",
    "GeometricSpans",
    "Loss",
    "MaskedLM",
    "NGrams",
    "NextSentence",
    "NounPhrases",
    "PrefixLM",
    "RandomSpans",
    "ReplacedTokens",
    "SampledLM",
    "Selection",
    "SentenceOrder",
    "SequenceToSequence",
    "SpanBoundary",
    "SpanCorruption",
    "TokenGenerator",
    "Tokens",
    "WholeWords",
]
