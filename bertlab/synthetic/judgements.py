"""Tasks on one sentence: sentiment, acceptability. Each names someone, so that no two splits share a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.language import SEASONS, sentence
from bertlab.synthetic.lexicon import lexicon
from bertlab.synthetic.stage import FALSE, TRUE, Stage
from bertlab.synthetic.world import kinds, named


def sentiment(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """Praise (1) or blame (0); after `but`, the second clause decides, and a `not` turns a word round."""
    stage = Stage.of(draw, pool, rare=rare)
    on = draw.one(("person", "place", "thing", "group", "work"))
    being = named(draw, on, pool)
    who = f"{stage.one.name}'s {stage.kind(on)}" if on == "thing" else being.name

    def judge(good: int, who: str) -> str:
        if draw.chance(0.25):
            return f"{who} was {draw.one(('not', 'never', 'hardly'))} {stage.adjective(on, good)}"
        return f"{who} was {draw.one(('', 'very ', 'truly ', 'rather '))}{stage.adjective(on, 1 - good)}"

    form = draw.below(3)
    if form == 0:
        text = judge(label, who)
    elif form == 1:
        text = f"{judge(label, who)} and {judge(label, being.subject)}"
    else:
        text = f"{judge(1 - label, who)}, but above all {judge(label, being.subject)}"
    opening = draw.one(("", f"{draw.one(SEASONS)} ", "they say that "))
    return {"sentence": sentence(opening + text), "label": label}


_SORTS = ("person", "place", "group", "animal")


def acceptability(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """A sentence that can be said (1), or one whose words do not go together (0).

    Either something is or does what nothing of its sort is or does, or an aside takes back what was said.
    """
    stage = Stage.of(draw, pool, rare=rare)
    name = stage.one.name
    form = draw.below(3)
    if form == 0:
        status = (TRUE, FALSE)[stage.either()]
        tail = draw.one(lexicon().claims[status if label else TRUE + FALSE - status].tails)
        return {
            "sentence": sentence(f"{stage.two.name} {stage.saying(status)} that {name} {stage.deed}, {tail}"),
            "label": label,
        }
    on = stage.item(_SORTS)
    sort = on if label else draw.other(_SORTS, on)
    what = draw.one(draw.one(kinds(sort)).deeds) if form == 1 else f"was {stage.adjective(sort, draw.below(2))}"
    return {"sentence": sentence(f"{name} said that {draw.one(SEASONS)} the {stage.kind(on)} {what}"), "label": label}
