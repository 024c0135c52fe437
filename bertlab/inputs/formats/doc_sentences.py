"""Doc sentences: one segment of consecutive sentences of one document (RoBERTa section 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bertlab.inputs.formats.base import Layout, Offsets, follow, pieces, single

if TYPE_CHECKING:
    from bertlab.text.tokens import Part


def doc_sentences(text: Part, *, length: int) -> Layout:
    """As many whole sentences of a document as fit into `length` tokens; the last sequence may be short.

    A sentence longer than a sequence is cut into even pieces, so that every token is in exactly one sequence.
    """
    sentences, documents = pieces(text, length - 2, length - 2)

    def after(i: Offsets) -> Offsets:
        end = documents[np.searchsorted(documents, i, side="right")]
        return np.minimum(np.searchsorted(sentences, sentences[i] + length - 2, side="right") - 1, end)

    starts = follow(after, len(sentences) - 1)
    return single(sentences[starts], sentences[after(starts)] - sentences[starts])
