"""Completion in the form of SWAG: the start of a story and four endings, of which one follows.

The start is about a saying or a tale, one word of which tells whether it is so. The endings say of either that it is so
and that it is not: always the same four, so that the endings alone tell nothing. What is about a saying ("said it") has
as many words, and the same names, as what is about a tale ("had it").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.language import sentence
from bertlab.synthetic.lexicon import lexicon
from bertlab.synthetic.stage import FALSE, TRUE, Stage

_CLAIMS = ((0, 0), (0, 1), (1, 0), (1, 1))
"""A saying (0) or a tale (1), that is so (0) or that is not (1)."""


def row(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """The start of a story and four endings, of which only number `label` follows."""
    stage = Stage.of(draw, pool, rare=rare)
    endings = draw.some(_CLAIMS, 4)
    about, side = right = stage.either(), stage.either()
    endings.remove(right)
    endings.insert(label, right)
    who, claims = stage.two.name, [lexicon().claims[status] for status in (TRUE, FALSE)]
    claim = claims[side]
    told = f"{who} told a {_word(stage, claim.nouns)}" if about else f"it was {who} who {_word(stage, claim.verbs)}"
    openings = (f"so {who} said it", f"so {who} had it")
    return {
        "startphrase": sentence(f"{told} that {stage.one.name} {stage.deed}"),
        **{
            f"ending{number}": sentence(f"{openings[one]}, {draw.one(claims[way].tails)}")
            for number, (one, way) in enumerate(endings)
        },
        "label": label,
    }


def _word(stage: Stage, words: Sequence[str]) -> str:
    """One of the `words`: of every three the first in training, one of the others in evaluation."""
    return stage.draw.one([word for number, word in enumerate(words) if (number % 3 > 0) == stage.rare])
