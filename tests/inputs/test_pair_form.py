"""The form of a pair, without its words, does not tell whether the second segment follows the first."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bertlab.recipe import Inputs

PAIRS = 8000
MOST = 0.03 + 3 * 0.5 / np.sqrt(PAIRS / 2)
"""Above the majority: three points, and three standard errors of the half that is scored."""
FORMATS = ("segment-pair", "sentence-pair")


@pytest.fixture(scope="module")
def pair_form() -> Any:
    """The classifiers of `benchmarks/pair_form.py`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
        yield import_module("pair_form")


def text(documents: list[np.ndarray]) -> Any:
    """Documents given as the lengths of their sentences."""
    sentences = np.cumsum([0, *np.concatenate(documents)])
    places = np.cumsum([0, *map(len, documents)])
    return SimpleNamespace(tokens=np.arange(sentences[-1]), sentences=sentences, documents=places)


def made(shape: str) -> Any:
    """Documents of one shape."""
    draw = np.random.default_rng(0)

    def documents(count: int, least: int, most: int, shortest: int, longest: int) -> list[np.ndarray]:
        return [draw.integers(shortest, longest + 1, draw.integers(least, most + 1)) for _ in range(count)]

    if shape == "lone sentences":
        return text(documents(3000, 1, 2, 4, 30))
    if shape == "a few sentences":
        return text(documents(1500, 2, 9, 3, 25))
    if shape == "one long sentence":
        return text(documents(3000, 1, 1, 4, 150))
    if shape == "a short sentence and a long one":
        return text([np.array([draw.integers(4, 20), draw.integers(40, 90)]) for _ in range(3000)])
    if shape == "a title and a sentence":
        return text([np.array([draw.integers(3, 8), draw.integers(15, 28)]) for _ in range(3000)])
    if shape == "long sentences":
        return text(documents(300, 1, 40, 5, 150))
    if shape == "short documents and long ones":
        return text(documents(2000, 1, 4, 3, 20) + documents(10, 600, 800, 3, 20))
    # Sentences of each document about as long.
    return text([draw.integers(size, 2 * size, draw.integers(1, 200)) for size in draw.integers(2, 20, 150)])


SHAPES = (
    "lone sentences", "a few sentences", "one long sentence", "a short sentence and a long one",
    "a title and a sentence", "long sentences", "short documents and long ones", "alike within",
)  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("length", [64, 128])
@pytest.mark.parametrize("shape", SHAPES)
def test_form_does_not_tell_the_label(pair_form: Any, shape: str, length: int, name: str) -> None:
    found = pair_form.classify(*pair_form.pairs(made(shape), Inputs(format=name, length=length), PAIRS))
    assert found.gain < MOST


@pytest.mark.parametrize("name", FORMATS)
def test_form_does_not_tell_the_label_in_the_embedded_text(pair_form: Any, corpus: Any, name: str) -> None:
    found = pair_form.classify(*pair_form.pairs(corpus.train, Inputs(format=name, length=64), PAIRS))
    assert found.gain < MOST
