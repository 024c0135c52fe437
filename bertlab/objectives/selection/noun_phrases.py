"""Noun phrases (SpanBERT: Joshi et al. 2020, Table 6)."""

from dataclasses import dataclass
from typing import ClassVar

from bertlab.objectives.selection.linguistic import LinguisticSelection
from bertlab.text.annotation import NOUN_PHRASES


@dataclass(frozen=True, kw_only=True)
class NounPhrases(LinguisticSelection):
    """Half of the tokens by noun phrases without others in them (spaCy's noun chunks), the others by whole words."""

    kind: ClassVar[str] = "noun_phrases"
    span: ClassVar[int] = NOUN_PHRASES
    spans: ClassVar[str] = "noun phrases"
