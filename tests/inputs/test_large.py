"""Texts of more tokens than 32 bits count: their sequences are those of a small text, further behind."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bertlab.inputs.collator import Collator
from bertlab.inputs.formats import base
from bertlab.objectives import MaskedLM
from bertlab.recipe import Inputs, Recipe
from bertlab.text.tokens import Part

BEHIND = 2**32 + 2**31
"""Tokens in front of the text."""
LENGTH = 32


@pytest.fixture(scope="module")
def texts(tmp_path_factory: Any) -> tuple[Part, Part]:
    """A small text, and the same one `BEHIND` tokens further behind, in a file that is empty before."""
    draw = np.random.default_rng(0)
    sizes = draw.integers(1, 20, 60)
    sentences = np.cumsum([0, *draw.integers(2, 40, sizes.sum())])
    documents = np.cumsum([0, *sizes])
    tokens = draw.integers(5, 2**16, sentences[-1], dtype=np.uint16)
    path = tmp_path_factory.mktemp("large") / "tokens.bin"
    with path.open("wb") as stream:
        stream.seek(BEHIND * tokens.itemsize)
        stream.write(tokens.tobytes())
    behind = np.memmap(path, dtype=np.uint16, mode="r")
    return Part(tokens, sentences, documents), Part(behind, sentences + BEHIND, documents)


@pytest.mark.parametrize("kind", ["segment-pair", "sentence-pair", "full-sentences", "doc-sentences"])
def test_offsets_may_be_larger_than_32_bits(texts: tuple[Part, Part], kind: str) -> None:
    inputs, ids = Inputs(format=kind), SimpleNamespace(pad=0, cls=2, sep=3, mask=4)
    near, far = (
        inputs.format.lay_out(text, Recipe(inputs=inputs, objective=(MaskedLM(),)), LENGTH, copy=3) for text in texts
    )
    assert np.array_equal(near.starts + BEHIND, far.starts)
    chosen = np.arange(len(near))
    assert len(chosen) > 100
    one, two = (
        Collator((), ids, text, LENGTH, 0).collate(layout, chosen, 3, 3)
        for text, layout in zip(texts, (near, far), strict=True)
    )
    assert np.array_equal(one.tokens, two.tokens)
    assert np.array_equal(one.lengths, two.lengths)
    # an id is the offset in the text, counted on over the copies
    assert np.array_equal(
        one.sequence_ids - 3 * len(texts[0].tokens) + BEHIND, two.sequence_ids - 3 * len(texts[1].tokens)
    )


@pytest.mark.parametrize("side", ["left", "right"])
def test_places_are_those_that_numpy_finds(side: Any) -> None:
    draw = np.random.default_rng(1)
    offsets = np.sort(draw.integers(0, 300, 200)) + BEHIND
    values = draw.integers(-5, 305, 500) + BEHIND
    assert np.array_equal(base.places_of(offsets, values, side), np.searchsorted(offsets, values, side))
