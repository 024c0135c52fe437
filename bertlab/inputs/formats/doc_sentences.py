"""Doc sentences: one segment of consecutive sentences of one document (RoBERTa section 4.2)."""

from __future__ import annotations

import numpy as np

from bertlab.inputs.formats.rows import Offsets, Rows, Text, follow, pieces, single


def doc_sentences(text: Text, *, length: int) -> Rows:
    """As many whole sentences of a document as fit into `length` tokens; its last row is as short as what is left.

    A sentence longer than a row is cut into even pieces, so that every token is in exactly one row.
    """
    sentences, documents = pieces(text, length - 2, length - 2)

    def after(i: Offsets) -> Offsets:
        end = documents[np.searchsorted(documents, i, side="right")]
        return np.minimum(np.searchsorted(sentences, sentences[i] + length - 2, side="right") - 1, end)

    rows = follow(after, len(sentences) - 1, documents[:-1])
    return single(sentences[rows], sentences[after(rows)] - sentences[rows])
