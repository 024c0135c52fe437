"""Formats of one segment of whole sentences: full sentences and doc sentences (RoBERTa section 4.2).

A sentence longer than a sequence is cut into even pieces, so that every token is in exactly one sequence.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bertlab.arrays import Int64
from bertlab.inputs.formats import base
from bertlab.inputs.formats.base import Layout, PackedLayout
from bertlab.recipe import Format, Recipe
from bertlab.text.tokens import Part


@dataclass(frozen=True, kw_only=True)
class FullSentences(Format):
    """One segment of sentences that are packed across documents."""

    kind: ClassVar[str] = "full-sentences"
    crosses: ClassVar[bool] = True

    def lay_out(self, text: Part, recipe: Recipe, length: int, copy: int) -> Layout:
        """The same sequences for every recipe and copy."""
        return full_sentences(text, length=length)


@dataclass(frozen=True, kw_only=True)
class DocSentences(Format):
    """One segment of sentences of one document; batches have as many tokens as those of full sentences."""

    kind: ClassVar[str] = "doc-sentences"
    token_matched_to: ClassVar[Format | None] = FullSentences()

    def lay_out(self, text: Part, recipe: Recipe, length: int, copy: int) -> Layout:
        """The same sequences for every recipe and copy."""
        return doc_sentences(text, length=length)


def full_sentences(text: Part, *, length: int) -> Layout:
    """Packs sentences of one or more documents into `length` tokens, with one more [SEP] between documents."""
    sentences, documents = base.pieces(text, length - 2, length - 2)
    number = np.arange(-1, len(sentences) - 1)
    # Where each sentence ends if every document but the first has its separator in front.
    ends = sentences + np.searchsorted(documents, number, side="right") - 1

    def after(i: Int64) -> Int64:
        begin = sentences[i] + np.searchsorted(documents, i, side="right") - 1
        return np.searchsorted(ends, begin + length - 2, side="right") - 1

    layout = base.consecutive(sentences, after, length - 2)
    return PackedLayout(**vars(layout), breaks=sentences[documents[1:-1]])


def doc_sentences(text: Part, *, length: int) -> Layout:
    """Packs sentences of one document into `length` tokens; its last sequence may be short."""
    sentences, documents = base.pieces(text, length - 2, length - 2)

    def after(i: Int64) -> Int64:
        end = documents[np.searchsorted(documents, i, side="right")]
        return np.minimum(np.searchsorted(sentences, sentences[i] + length - 2, side="right") - 1, end)

    return base.consecutive(sentences, after, length - 2)
