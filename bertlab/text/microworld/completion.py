"""Completion in the form of SWAG: the start of a story and four endings, of which one follows.

The start is a premise (`inference.py`), of a saying or a tale. The endings say of either that it is so and that it is
not: always the same four, so that the endings alone tell nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertlab.text.microworld.draw import Draw
from bertlab.text.microworld.inference import claim, verdict
from bertlab.text.microworld.language import sentence
from bertlab.text.microworld.stage import Stage


def row(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """The start of a story and four endings, of which only number `label` follows."""
    stage = Stage.of(draw, pool, rare=rare)
    about, side = right = stage.either(), stage.either()
    others = [(one, way) for one in range(2) for way in range(2) if (one, way) != right]
    endings = draw.some(others, 3)
    endings.insert(label, right)
    return {
        "startphrase": sentence(claim(stage, about, side)),
        **{f"ending{number}": sentence(verdict(stage, *ending)) for number, ending in enumerate(endings)},
        "label": label,
    }
