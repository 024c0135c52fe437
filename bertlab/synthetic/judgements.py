"""Tasks on one sentence: sentiment, acceptability. Each names someone, so that no two splits share a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.language import SEASONS, sentence
from bertlab.synthetic.lexicon import lexicon
from bertlab.synthetic.stage import FALSE, TRUE, Stage
from bertlab.synthetic.world import kinds


def sentiment(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """Praise (1) or blame (0) of a person. Three in four are what somebody says, and false blame is praise.

    The word for saying decides whether the adjective holds: the documents show which words make it so, and those of the
    evaluation examples are in no training example. The adjectives are, since small models carry a pole over to none
    that they were not taught. The other examples say it outright, or with a `not`. Either form has as many words
    whatever the label.
    """
    stage = Stage.of(draw, pool, rare=rare)
    who = stage.one.name
    if draw.chance(0.25):
        turned = draw.chance(0.25)
        manner = draw.one(("not", "never", "hardly") if turned else ("very", "truly", "rather"))
        text = f"{who} was {manner} {stage.adjective('person', label if turned else 1 - label)}"
    else:
        side = stage.either()  # that it is so, or that it is not
        verb = stage.apart(lexicon().claims[(TRUE, FALSE)[side]].verbs)
        adjective = stage.adjective("person", label if side else 1 - label)
        text = f"it was {stage.two.name} who {verb} that {who} was {adjective}"
    return {"sentence": sentence(text), "label": label}


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
