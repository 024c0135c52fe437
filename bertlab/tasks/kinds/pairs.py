"""A text or a pair of texts as a sequence: [CLS] A [SEP] or [CLS] A [SEP] B [SEP] (BERT section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertlab.tasks.examples import Examples, Integers, Numbers

if TYPE_CHECKING:
    from bertlab.text.tokenizers.base import TrainedTokenizer


def encode(text: Sequence[Sequence[str]], labels: Numbers, tokenizer: TrainedTokenizer, length: int) -> Examples:
    """Encodes one or two text columns, truncated to `length` tokens per sequence; the target is at [CLS]."""
    first, *second = (tokenizer.encode(column) for column in text)
    sequences: list[Integers] = []
    second_starts = np.empty(len(labels), np.int32)
    for number, one in enumerate(first):
        two = [*second[0][number], tokenizer.sep] if second else []
        keep, keep_second = truncated(len(one), max(0, len(two) - 1), length - (3 if second else 2))
        second_starts[number] = keep + 2
        sequence = [tokenizer.cls, *one[:keep], tokenizer.sep, *two[:keep_second], *two[-1:]]
        sequences.append(np.array(sequence, np.int32))
    return Examples(
        sequences=sequences,
        second_starts=second_starts,
        positions=[np.zeros(1, np.int32)] * len(sequences),
        targets=labels,
        owners=np.arange(len(sequences)),
        pad=tokenizer.pad,
        raw_count=len(sequences),
    )


def truncated(first: int, second: int, budget: int) -> tuple[int, int]:
    """The lengths of a pair truncated to `budget` tokens, always at the end of the longer segment."""
    if first + second <= budget:
        return first, second
    half = budget // 2  # of equally long segments the second is truncated, so the first keeps the odd token
    if second <= half:
        return budget - second, second
    if first <= budget - half:
        return first, budget - first
    return budget - half, half
