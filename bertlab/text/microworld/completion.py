"""Completion in the form of SWAG: the start of a story and four endings, of which one follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertlab.text.microworld import retelling
from bertlab.text.microworld.draw import Draw
from bertlab.text.microworld.language import RESTATE, sentence
from bertlab.text.microworld.lexicon import lexicon
from bertlab.text.microworld.stage import Stage

Story = tuple[str, str, list[str]]
"""How it starts, how it goes on, and three ways that it does not."""


def row(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """The start of a story and four endings, of which only number `label` follows."""
    start, right, wrong = draw.one(_STORIES)(Stage.of(draw, pool, rare=rare))
    endings = [*wrong[:label], right, *wrong[label:]]
    return {
        "startphrase": start,
        **{f"ending{number}": f"{ending}." for number, ending in enumerate(endings)},
        "label": label,
    }


def _retold(stage: Stage) -> Story:
    """The same again in other words, or something else of the same people."""
    (first, again), *others = retelling.facts(stage, 4)
    start = f"{sentence(first)} {stage.draw.one(RESTATE).capitalize()},"
    return start, again, [other for _, other in others]


def _certainty(stage: Stage) -> Story:
    """Whether what someone says is so lies in the word for the saying."""
    draw, about = stage.draw, stage.two
    status, *others = draw.some(range(3), 3)
    claims = lexicon().claims
    said = f"{about.name} {draw.one(about.category.deeds)}"
    start = sentence(f"{stage.one.name} {stage.word(claims[status].verbs)} that {said}", ",")
    wrong = [*draw.some(claims[others[0]].tails, 2), draw.one(claims[others[1]].tails)]
    return start, draw.one(claims[status].tails), draw.some(wrong, 3)


_STORIES = (_retold, _retold, _certainty)
