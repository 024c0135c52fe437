"""Completion in the format of SWAG: the start of a story and four endings, one of which follows.

The start reports a saying or a tale, and one word decides whether it is true. The four endings state for both that it
is true and that it is false; they are the same in every example, so the endings alone carry no information. Endings
about a saying ("said it") and about a tale ("had it") have the same length and the same names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.language import sentence
from bertlab.synthetic.lexicon import lexicon
from bertlab.synthetic.stage import FALSE, TRUE, Stage

_CLAIMS = ((0, 0), (0, 1), (1, 0), (1, 1))
"""A saying (0) or a tale (1), true (0) or false (1)."""


def example(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """The start of a story and four endings, of which only that with index `label` follows."""
    stage = Stage.of(draw, pool, rare=rare)
    endings = draw.some(_CLAIMS, 4)
    about, side = right = stage.either(), stage.either()
    endings.remove(right)
    endings.insert(label, right)
    who, claims = stage.two.name, [lexicon().claims[status] for status in (TRUE, FALSE)]
    claim = claims[side]
    start = f"{who} told a {_word(stage, claim.nouns)}" if about else f"it was {who} who {_word(stage, claim.verbs)}"
    openings = (f"so {who} said it", f"so {who} had it")
    return {
        "startphrase": sentence(f"{start} that {stage.one.name} {stage.deed}"),
        **{
            f"ending{number}": sentence(f"{openings[one]}, {draw.one(claims[way].tails)}")
            for number, (one, way) in enumerate(endings)
        },
        "label": label,
    }


def _word(stage: Stage, words: Sequence[str]) -> str:
    """One of the `words`: the first of every three in training, one of the other two in evaluation."""
    return stage.draw.one([word for number, word in enumerate(words) if (number % 3 > 0) == stage.rare])
