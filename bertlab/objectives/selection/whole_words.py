"""Whole words (Google's BERT of May 2019; "whole words" in SpanBERT's Table 6)."""

from dataclasses import dataclass
from typing import ClassVar

from bertlab.objectives.selection.words import WordSelection


@dataclass(frozen=True, kw_only=True)
class WholeWords(WordSelection):
    """All pieces of a word are chosen together; what is shown for each is drawn independently, as in Google's code.

    Words are drawn uniformly. As in Google's code, a word that would exceed the number of tokens is skipped, and the
    next one that fits is taken. If none fits, the first pieces of a word are taken, so that the number is exact.
    """

    kind: ClassVar[str] = "whole_words"
