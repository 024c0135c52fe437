"""Full sentences: one segment of consecutive sentences that goes on into the next document (RoBERTa section 4.2)."""

from __future__ import annotations

import numpy as np

from bertlab.inputs.formats.rows import Offsets, Rows, Text, follow, pieces, single


def full_sentences(text: Text, *, length: int) -> Rows:
    """As many whole sentences as fit into `length` tokens, with a [SEP] more between documents; the next row goes on.

    A sentence longer than a row is cut into even pieces, so that every token is in exactly one row.
    """
    sentences, documents = pieces(text, length - 2, length - 2)
    number = np.arange(-1, len(sentences) - 1)
    # Where each sentence ends if every document but the first has its separator in front.
    ends = sentences + np.searchsorted(documents, number, side="right") - 1

    def after(i: Offsets) -> Offsets:
        begin = sentences[i] + np.searchsorted(documents, i, side="right") - 1
        return np.searchsorted(ends, begin + length - 2, side="right") - 1

    rows = follow(after, len(sentences) - 1, documents[:1])
    return single(sentences[rows], sentences[after(rows)] - sentences[rows], breaks=sentences[documents[1:-1]])
