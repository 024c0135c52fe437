"""How sequences are cut out of documents: the four formats of RoBERTa section 4.2, one a file."""

from __future__ import annotations

from bertlab.inputs.formats.doc_sentences import doc_sentences
from bertlab.inputs.formats.full_sentences import full_sentences
from bertlab.inputs.formats.rows import Rows, Text
from bertlab.inputs.formats.segment_pair import segment_pairs, single_segments
from bertlab.inputs.formats.sentence_pair import sentence_pairs
from bertlab.recipe import Inputs, Pairing

__all__ = [
    "Rows", "Text", "doc_sentences", "full_sentences", "layout", "segment_pairs", "sentence_pairs", "single_segments",
]  # fmt: skip


_BERT = Pairing()


def layout(inputs: Inputs, text: Text, *, length: int, copy: int, seed: int, pairing: Pairing = _BERT) -> Rows:
    """The rows of pass `copy` over `text` in the format of `inputs`, of at most `length` tokens with their specials.

    Segment pairs are paired as `pairing` says, sentence pairs as in BERT.

    Raises `BadInput` where the format needs a second document and there is none.
    """
    if inputs.format == "sentence-pair":
        return sentence_pairs(text, length=length, copy=copy, seed=seed)
    if inputs.format == "full-sentences":
        return full_sentences(text, length=length)
    if inputs.format == "doc-sentences":
        return doc_sentences(text, length=length)
    return segment_pairs(text, length=length, short=inputs.short_seq_prob, copy=copy, seed=seed, pairing=pairing)
