"""Tasks on one sentence: sentiment, acceptability. Each contains a name, so splits share no sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.language import SEASONS, sentence
from bertlab.synthetic.lexicon import lexicon
from bertlab.synthetic.stage import FALSE, TRUE, Stage
from bertlab.synthetic.world import kinds


def sentiment(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """Praise (1) or blame (0) of a person. Three in four examples quote somebody; false blame is praise.

    The verb of the quotation decides whether the adjective holds. The documents show which verbs imply truth;
    evaluation examples use verbs that no training example has. Their adjectives do occur in training, since small
    models do not transfer polarity to other adjectives. The remaining examples state the adjective directly, or negate
    it. The length of an example is independent of its label.
    """
    stage = Stage.of(draw, pool, rare=rare)
    who = stage.one.name
    if draw.chance(0.25):
        turned = draw.chance(0.25)
        manner = draw.one(("not", "never", "hardly") if turned else ("very", "truly", "rather"))
        text = f"{who} was {manner} {stage.adjective('person', label if turned else 1 - label)}"
    else:
        side = stage.either()  # true or false
        verb = stage.apart(lexicon().claims[(TRUE, FALSE)[side]].verbs)
        adjective = stage.adjective("person", label if side else 1 - label)
        text = f"it was {stage.two.name} who {verb} that {who} was {adjective}"
    return {"sentence": sentence(text), "label": label}


_SORTS = ("person", "place", "group", "animal")


def acceptability(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """An acceptable sentence (1), or one whose parts do not fit (0).

    Its subject has a property or does a deed that its sort never has or does, or a tail contradicts the claim.
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
