"""Multiple choice, as in BERT section 4.4: [CLS] context [SEP] ending [SEP] for each ending, one vector dotted with
each [CLS], a softmax over the endings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks import classification
from bertlab.tasks.examples import Examples, Integers

if TYPE_CHECKING:
    from bertlab.text.tokenizers.wordpiece import WordPiece


def endings(columns: Sequence[Sequence[Any]], names: Sequence[str], where: str) -> list[list[str]]:
    """The columns of endings, one for each: given as such, or as one column of lists, of as many texts in each row.

    Raises `BadInput` with the row of the first that has other than texts, or not as many as the first row.
    """
    if len(columns) == 1:
        place = f"{where} column {names[0]}"
        expected = len(columns[0][0]) if isinstance(columns[0][0], list) else 0
        for row, listed in enumerate(columns[0], start=1):
            if not isinstance(listed, list) or len(listed) < 2:
                raise BadInput(f"{place} row {row} is {shown(listed)}: give a list of two endings or more")
            if len(listed) != expected:
                raise BadInput(f"{place} row {row} has {len(listed)} endings, the first row {expected}: give as many")
        columns = list(zip(*columns[0], strict=True))
        names = [names[0]] * expected
    for column, name in zip(columns, names, strict=True):
        classification.check_texts(column, f"{where} column {name}")
    return [list(column) for column in columns]


def examples(text: Sequence[Sequence[str]], labels: Integers, tokenizer: WordPiece, length: int) -> Examples:
    """Contexts and their columns of endings as arrays: the rows of an example one after another, its label once."""
    contexts, *columns = text
    choices, count = len(columns), len(labels)
    first = [context for context in contexts for _ in columns]
    second = [ending for row in zip(*columns, strict=True) for ending in row]
    pairs = classification.examples([first, second], np.repeat(labels, choices), tokenizer, length)
    return dataclasses.replace(
        pairs,
        places=np.zeros(count, np.int32),
        target_offsets=np.arange(count + 1),
        targets=labels,
        owners=np.arange(count),
        rows=count,
        choices=choices,
    )
