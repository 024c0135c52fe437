"""Tasks on one sentence: sentiment, acceptability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertlab.text.microworld import language
from bertlab.text.microworld.draw import Draw
from bertlab.text.microworld.language import SEASONS, sentence
from bertlab.text.microworld.lexicon import lexicon
from bertlab.text.microworld.world import named, unnamed


def sentiment(draw: Draw, label: int, pool: Sequence[str]) -> dict[str, Any]:
    """Praise (1) or blame (0); after `but`, the second clause decides, and a `not` turns a word round."""
    on = draw.one(("person", "place", "thing", "group", "work"))
    being = unnamed(draw, on) if on == "thing" else named(draw, on, pool)

    def judge(good: int, who: str) -> str:
        scale = draw.one([scale for scale in being.scales() if scale.value])
        if draw.chance(0.25):
            return f"{who} was {draw.one(('not', 'never', 'hardly'))} {draw.one(scale.poles[good])}"
        return f"{who} was {draw.one(('', 'very ', 'truly ', 'rather '))}{draw.one(scale.poles[1 - good])}"

    who = being.name if on != "thing" else f"the {being.kind}"
    form = draw.below(3)
    if form == 0:
        text = judge(label, who)
    elif form == 1:
        text = f"{judge(label, who)} and {judge(label, being.subject)}"
    else:
        text = f"{judge(1 - label, who)}, but above all {judge(label, being.subject)}"
    opening = draw.one(("", f"{draw.one(SEASONS)} ", "they say that "))
    return {"sentence": sentence(opening + text), "label": label}


def acceptability(draw: Draw, label: int, pool: Sequence[str]) -> dict[str, Any]:
    """A sentence that is said so (1), or one with a fault (0) in agreement, form, order or articles."""
    one, two, thing = named(draw, "person", pool), named(draw, "person", pool), unnamed(draw, "thing")
    verb = draw.one(draw.one(draw.one(lexicon().deeds).sides))
    word = draw.one(draw.one(draw.one(lexicon().scales["person"]).poles))
    form = draw.below(7)
    if form == 0:
        good = f"{one.name}, a {one.noun}, {verb.past} {two.name} because {one.subject} was {word}"
        bad = good.replace(f"because {one.subject}", f"because {one.object}")
    elif form == 1:
        good = f"the {one.noun} {verb.past} {'herself' if one.female else 'himself'} {draw.one(SEASONS)}"
        bad = good.replace("herself" if one.female else "himself", "himself" if one.female else "herself")
    elif form == 2:
        good = f"{one.name} was {verb.participle} by {two.name}"
        bad = (
            f"{one.name} was {verb.base} by {two.name}"
            if draw.chance(0.5)
            else f"{one.name} {verb.participle} was by {two.name}"
        )
    elif form == 3:
        good = f"{one.name} and {two.name} were {word}"
        bad = f"{one.name} and {two.name} was {word}"
    elif form == 4:
        good = f"{one.name} did not {verb.base} the {two.kind}"
        bad = (
            f"{one.name} did not {verb.past} the {two.kind}"
            if draw.chance(0.5)
            else f"{one.name} {verb.base} not did the {two.kind}"
        )
    elif form == 5:
        good = f"{one.name} {draw.one(thing.category.deeds)} the {thing.kind}"
        bad = good.replace(
            f"the {thing.kind}", draw.one((f"{thing.kind} the", f"the a {thing.kind}", f"the {thing.kind} the"))
        )
    else:
        good = f"{one.name} was {language.comparative(word)} than {two.name}"
        more = language.comparative(word)
        doubled = f"most {word}" if more.startswith("more") else f"more {more}"
        bad = draw.one((good.replace(" than ", " as "), good.replace(more, doubled)))
    return {"sentence": sentence(good if label else bad), "label": label}
