"""Facts that are told twice, in other words and from another side, as documents do (`documents.py`).

A small model learns from the text which kind of thing is told, of what sort something is and how sure a saying is, but
hardly who did what to whom. So two facts of one row are always of different kinds.
"""

from __future__ import annotations

from collections.abc import Callable

from bertlab.text.microworld import language
from bertlab.text.microworld.lexicon import lexicon
from bertlab.text.microworld.stage import Stage
from bertlab.text.microworld.world import named, unnamed

Retold = tuple[str, str]
"""Two clauses that mean the same."""

WAYS = ("walked", "travelled", "rode", "went", "hurried", "moved")


def facts(stage: Stage, count: int) -> list[Retold]:
    """`count` facts of different kinds about the people of `stage`, each told twice."""
    return [fact(stage) for fact in stage.draw.some(KINDS, count)]


def _trait(stage: Stage) -> Retold:
    draw = stage.draw
    scale = draw.one(lexicon().scales["person"])
    one, two = draw.some(draw.one(scale.poles), 2)
    return f"{stage.one.name} was {one}", f"{stage.one.name} was {two}"


def _comparison(stage: Stage) -> Retold:
    draw, one, two = stage.draw, stage.one.name, stage.two.name
    scale, pole = draw.one(lexicon().scales["person"]), draw.below(2)
    return language.comparison(draw, one, two, scale, pole), language.comparison(draw, one, two, scale, pole)


def _deed(stage: Stage) -> Retold:
    draw, one, two = stage.draw, stage.one.name, stage.two.name
    verbs, side = draw.one(lexicon().deeds), draw.below(2)
    return language.deed(draw, one, verbs, side, two), language.deed(draw, one, verbs, side, two)


def _transfer(stage: Stage) -> Retold:
    draw, one, two = stage.draw, stage.one.name, stage.two.name
    verbs, thing = draw.one(lexicon().transfers), unnamed(draw, "thing").name
    side = draw.below(2)
    return (
        language.transfer(draw, one, two, verbs, thing, side),
        language.transfer(draw, one, two, verbs, thing, 1 - side),
    )


def _journey(stage: Stage) -> Retold:
    draw, one, here, there = stage.draw, stage.one.name, stage.here.name, stage.there.name
    return f"{one} left {here} and {draw.one(WAYS)} to {there}", f"{one} {draw.one(WAYS)} from {here} to {there}"


def _work(stage: Stage) -> Retold:
    one = stage.one
    kind = stage.word(one.category.kinds)
    return f"{one.name} worked as a {kind}", f"{one.name}, a {kind}, was a {one.category.name}"


def _dealing(stage: Stage) -> Retold:
    draw, one = stage.draw, stage.one.name
    other = named(draw, draw.one(("place", "group", "work")), stage.pool)
    verb = draw.one(lexicon().dealings[other.on])
    return (
        f"{one} {verb} the {stage.word(other.category.kinds)} {other.name}",
        f"{other.name} was a {other.category.name} that {one} {verb}",
    )


def _claim(stage: Stage) -> Retold:
    draw, one, about = stage.draw, stage.one.name, stage.three
    claim = draw.one(lexicon().claims)
    first, second = draw.some(stage.words(claim.verbs), 2)
    said = f"{about.name} {draw.one(about.category.deeds)}"
    return f"{one} {first} that {said}", f"{one} {second} that {said}"


KINDS: tuple[Callable[[Stage], Retold], ...] = (
    _trait, _comparison, _deed, _transfer, _journey, _work, _dealing, _claim,
)  # fmt: skip
