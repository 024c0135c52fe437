"""How sequences are cut out of documents: the four formats of RoBERTa section 4.2."""

from bertlab.inputs.formats.base import Layout
from bertlab.inputs.formats.segment_pair import segment_pairs, single_segments
from bertlab.inputs.formats.sentence_pair import sentence_pairs
from bertlab.inputs.formats.whole_sentences import doc_sentences, full_sentences
from bertlab.recipe import Inputs, Pairing
from bertlab.text.tokens import Part

__all__ = ["Layout", "doc_sentences", "full_sentences", "lay_out", "segment_pairs", "sentence_pairs", "single_segments"]


def lay_out(inputs: Inputs, text: Part, *, length: int, copy: int, seed: int, pairing: Pairing | None = None) -> Layout:
    """The sequences of copy `copy` of `text` in the format of `inputs`, of at most `length` tokens with their specials.

    `pairing` describes segment pairs; None is BERT's, which sentence pairs always have. Raises `BadInput` if the format
    needs a second document and there is none.
    """
    if inputs.format == "sentence-pair":
        return sentence_pairs(text, length=length, copy=copy, seed=seed)
    if inputs.format == "full-sentences":
        return full_sentences(text, length=length)
    if inputs.format == "doc-sentences":
        return doc_sentences(text, length=length)
    return segment_pairs(text, length=length, short=inputs.short_seq_prob, copy=copy, seed=seed, pairing=pairing)
