"""Text cut into sequences of one length, wherever that is (T5: Raffel et al. 2020, released code)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bertlab.inputs.formats.base import Layout
from bertlab.recipe import Format, Recipe
from bertlab.text.tokens import Part


@dataclass(frozen=True, kw_only=True)
class Chunks(Format):
    """One segment of consecutive tokens, across documents without a [SEP] between them; only the last one is short."""

    kind: ClassVar[str] = "chunks"
    trimmed: ClassVar[bool] = False
    joins: ClassVar[bool] = True

    def lay_out(self, text: Part, recipe: Recipe, length: int, copy: int) -> Layout:
        """The same sequences for every recipe and copy."""
        return chunks(text, length=length)


def chunks(text: Part, *, length: int) -> Layout:
    """Cuts a text into pieces of `length` tokens with their specials."""
    starts = np.arange(0, len(text.tokens), length - 2, dtype=np.int64)
    return Layout(starts, starts, np.minimum(len(text.tokens) - starts, length - 2).astype(np.int32))
