"""Three-way inference: does the premise entail the hypothesis (0), leave it open (1) or contradict it (2)?

The hypothesis is drawn first and knows nothing of the label; then a premise is made for the label. So the hypothesis
alone tells nothing. What decides is the lexicon (synonyms, opposites, classes, converses, which words for saying mean
that something is so) and who did what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bertlab.text.microworld import language
from bertlab.text.microworld.draw import Draw
from bertlab.text.microworld.entities import cue
from bertlab.text.microworld.language import SEASONS, sentence
from bertlab.text.microworld.lexicon import lexicon
from bertlab.text.microworld.stage import Stage
from bertlab.text.microworld.world import NAMED, SORTS, kinds, named, unnamed

ENTAILED, OPEN, CONTRADICTED = 0, 1, 2
NOISE = 0.03
"""Share of the rows whose label is drawn at random, as annotators slip."""

ALONE = 0.6
"""Share of the premises on a trait or a kind that speak of one person only."""

_MENTIONED = ("remembered", "mentioned", "forgotten", "talked about")
_SORTED = ("animal", "thing", "place", "group", "work")
_UNSURE = ("perhaps", "{other} hoped that", "it may be that", "{other} dreamed that", "no one knew whether")


def _unsure(stage: Stage, clause: str) -> str:
    """The clause, said by someone who does not know."""
    return f"{stage.draw.one(_UNSURE).format(other=stage.three.name)} {clause}"


Scene = Callable[[Stage], tuple[str, Callable[[int], str]]]


def row(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """One row in the columns of MNLI; its people and places have names out of `pool`.

    Of each list of kinds and claim words, two in three are `rare`: no training row has them, other rows do.
    """
    stage = Stage.of(draw, pool, rare=rare)
    hypothesis, premise = draw.one(_SCENES)(stage)
    clause = premise(label)
    told = [sentence(clause)]
    if draw.chance(0.4):
        aside = named(draw, "person", pool)
        extra = sentence(f"{aside.name} {draw.one(aside.category.deeds)} {draw.one(SEASONS)}")
        told.insert(draw.below(2), extra)
    if draw.chance(NOISE):
        label = draw.below(3)
    return {"premise": " ".join(told), "hypothesis": sentence(hypothesis), "label": label}


def _joined(draw: Draw, one: str, two: str) -> str:
    """Two clauses in drawn order."""
    if draw.chance(0.5):
        one, two = two, one
    return f"{one}, {draw.one(('and', *language.CONTRAST))} {two}"


def _trait(stage: Stage) -> tuple[str, Callable[[int], str]]:
    draw, one, two = stage.draw, stage.one, stage.two
    scales = lexicon().scales["person"]
    scale = draw.one(scales)
    pole = draw.below(2)
    word = draw.one(scale.poles[pole])
    beside = draw.one(scales)

    def premise(label: int) -> str:
        if label == OPEN:
            if draw.chance(0.3):
                return _unsure(stage, f"{one.name} was {draw.one(scale.poles[pole])}")
            off = draw.other(scales, scale)
            mine = language.trait(draw, one.name, off, draw.below(2), one.noun)
            if draw.chance(ALONE):
                return mine
            return _joined(draw, mine, language.trait(draw, two.name, scale, draw.below(2), two.noun))
        other = language.trait(draw, two.name, beside, draw.below(2), two.noun)
        side = pole if label == ENTAILED else 1 - pole
        if draw.chance(0.2):
            mine = f"{one.name} was not {draw.one(scale.poles[1 - side])}"
        else:
            mine = f"{one.name} was {draw.other(scale.poles[side], word) if len(scale.poles[side]) > 1 else word}"
        return mine if draw.chance(ALONE) else _joined(draw, mine, other)

    return f"{one.name} was {word}", premise


def _kind(stage: Stage) -> tuple[str, Callable[[int], str]]:
    draw, one, two = stage.draw, stage.one, stage.two
    on = draw.one(("person", "person", "place", "group", "work"))
    if on != "person":
        one, two = named(draw, on, stage.pool), named(draw, on, stage.pool)
    category = draw.one(kinds(on))

    def premise(label: int) -> str:
        other = draw.other(kinds(on), category)
        told = {ENTAILED: (category, other), CONTRADICTED: (other, category), OPEN: (None, category)}[label]
        theirs = f"{two.name} was a {stage.word((told[1] if draw.chance(0.7) else other).kinds)}"
        if told[0] is None:
            scale = draw.one(lexicon().scales[on])
            mine = language.trait(draw, one.name, scale, draw.below(2), "one")
        else:
            mine = f"{one.name} was a {stage.word(told[0].kinds)}"
        return mine if draw.chance(ALONE) else _joined(draw, mine, theirs)

    return f"{one.name} was a {category.name}", premise


def _sort(stage: Stage) -> tuple[str, Callable[[int], str]]:
    """A person, a place, a group or a creation?"""
    draw = stage.draw
    on = draw.one(tuple(NAMED))
    one = named(draw, on, stage.pool)

    def premise(label: int) -> str:
        if label == OPEN:
            vague = f"{one.name} was {draw.one(_MENTIONED)} {draw.one(SEASONS)}"
            two = named(draw, draw.one(tuple(NAMED)), stage.pool)
            return vague if draw.chance(0.4) else _joined(draw, vague, cue(draw, two, two.name))
        being = one if label == ENTAILED else named(draw, draw.other(tuple(NAMED), on), stage.pool)
        clause = cue(draw, being, one.name)
        if draw.chance(0.6):
            return clause
        two = named(draw, "person", stage.pool)
        return _joined(draw, clause, f"{two.name} was {draw.one(_MENTIONED)} {draw.one(SEASONS)}")

    return f"{one.name} was a {one.sort}", premise


def _choice(stage: Stage) -> tuple[str, Callable[[int], str]]:
    """Of which sort or category is the thing that someone chose?"""
    draw, one = stage.draw, stage.one
    on = draw.one(_SORTED)
    broad = draw.chance(0.6)
    category = draw.one(kinds(on))
    verb = draw.one(("bought", "found", "lost", "kept", "saw", "wanted"))

    def premise(label: int) -> str:
        if label == OPEN:
            if draw.chance(0.5):
                return _unsure(stage, f"{one.name} {verb} a {stage.word(category.kinds)}")
            return f"{stage.two.name} {verb} a {stage.word(category.kinds)} and told {one.name} about it"
        chosen = category
        if label == CONTRADICTED:
            chosen = draw.one(kinds(draw.other(_SORTED, on))) if broad else draw.other(kinds(on), category)
        return f"the only thing that {one.name} {verb} was a {stage.word(chosen.kinds)}"

    return f"{one.name} {verb} a {SORTS[on] if broad else category.name}", premise


def _deed(stage: Stage) -> tuple[str, Callable[[int], str]]:
    draw, one, two = stage.draw, stage.one, stage.two
    verbs = draw.one(lexicon().deeds)
    side = draw.below(2)

    def premise(label: int) -> str:
        if label == OPEN:
            if draw.chance(0.3):
                return _unsure(stage, f"{one.name} {draw.one(verbs.sides[side]).past} {two.name}")
            if draw.chance(0.25):
                return language.deed(draw, two.name, verbs, side, one.name)
            return language.deed(draw, one.name, draw.other(lexicon().deeds, verbs), draw.below(2), two.name)
        if label == CONTRADICTED and draw.chance(0.3):
            return f"{one.name} did not {draw.one(verbs.sides[side]).base} {two.name}"
        return language.deed(draw, one.name, verbs, side if label == ENTAILED else 1 - side, two.name)

    return f"{one.name} {draw.one(verbs.sides[side]).past} {two.name}", premise


def _treatment(stage: Stage) -> tuple[str, Callable[[int], str]]:
    draw, one = stage.draw, stage.one
    verbs = draw.one(lexicon().treatments)
    side = draw.below(2)
    thing = unnamed(draw, "thing")

    def premise(label: int) -> str:
        if label == OPEN:
            if draw.chance(0.4):
                return _unsure(stage, f"{one.name} {draw.one(verbs.sides[side]).past} the {thing.kind}")
            return language.deed(draw, stage.two.name, verbs, draw.below(2), f"the {thing.kind}")
        return language.deed(draw, one.name, verbs, side if label == ENTAILED else 1 - side, f"the {thing.kind}")

    noun = draw.one((thing.kind, thing.kind, thing.category.name))
    return f"{one.name} {draw.one(verbs.sides[side]).past} the {noun}", premise


def _transfer(stage: Stage) -> tuple[str, Callable[[int], str]]:
    draw, one, two = stage.draw, stage.one, stage.two
    verbs = draw.one(lexicon().transfers)
    thing = unnamed(draw, "thing")

    def premise(label: int) -> str:
        noun = f"a {thing.kind}"
        if label == OPEN:
            if draw.chance(0.4):
                return _unsure(stage, language.transfer(draw, one.name, two.name, verbs, noun))
            return language.transfer(draw, one.name, stage.three.name, verbs, noun)
        giver, receiver = (one, two) if label == ENTAILED else (two, one)
        return language.transfer(draw, giver.name, receiver.name, verbs, noun)

    return language.transfer(draw, one.name, two.name, verbs, f"the {thing.kind}"), premise


def _possession(stage: Stage) -> tuple[str, Callable[[int], str]]:
    draw, one, two = stage.draw, stage.one, stage.two
    thing = unnamed(draw, "thing")

    def premise(label: int) -> str:
        verbs = draw.one(lexicon().transfers)
        kind = draw.one(thing.category.kinds)
        giver, receiver = (one, two) if label == CONTRADICTED else (two, one)
        if label == OPEN:
            kind = draw.one(draw.other(kinds("thing"), thing.category).kinds)
        return language.transfer(draw, giver.name, receiver.name, verbs, f"{draw.one(('a', 'the only'))} {kind}")

    return f"now {one.name} had the {thing.category.name}", premise


def _journey(stage: Stage) -> tuple[str, Callable[[int], str]]:
    draw, one, here, there = stage.draw, stage.one, stage.here, stage.there

    def premise(label: int) -> str:
        way = draw.one(("walked", "travelled", "rode", "went", "hurried", "moved"))
        if label == OPEN:
            if draw.chance(0.5):
                return _unsure(stage, f"{one.name} {way} from {here.name} to {there.name}")
            return f"{stage.two.name} left {here.name} and {way} to {there.name} to forget {one.name}"
        start, end = (here, there) if label == ENTAILED else (there, here)
        return draw.one(
            (
                f"{one.name} left {start.name} and {way} to {end.name}",
                f"{one.name} {way} from {start.name} to {end.name}",
                f"{one.name} {way} to {end.name} from {start.name}",
            )
        )

    return draw.one((f"now {one.name} was in {there.name}", f"{one.name} arrived in {there.name}")), premise


def _comparison(stage: Stage) -> tuple[str, Callable[[int], str]]:
    draw, one, two = stage.draw, stage.one, stage.two
    scales = lexicon().scales["person"]
    scale = draw.one(scales)
    pole = draw.below(2)

    def premise(label: int) -> str:
        if label == OPEN:
            if draw.chance(0.5):
                return language.comparison(draw, one.name, two.name, draw.other(scales, scale), draw.below(2))
            return language.comparison(draw, one.name, stage.three.name, scale, pole)
        more, less = (one, two) if label == ENTAILED else (two, one)
        return language.comparison(draw, more.name, less.name, scale, pole)

    return language.comparison(draw, one.name, two.name, scale, pole), premise


def _order(stage: Stage) -> tuple[str, Callable[[int], str]]:
    draw = stage.draw
    events = [f"{being.name} {draw.one(being.category.deeds)}" for being in (stage.one, stage.two)]

    def premise(label: int) -> str:
        if label == OPEN:
            return _joined(draw, *(f"{event} {draw.one(SEASONS)}" for event in events))
        return language.order(draw, *(events if label == ENTAILED else events[::-1]))

    return language.order(draw, *events), premise


def _claim(stage: Stage) -> tuple[str, Callable[[int], str]]:
    """Whether what someone says is so lies in the word for the saying."""
    draw, one, two = stage.draw, stage.one, stage.two
    form = draw.below(3)
    scale, pole = draw.one(lexicon().scales["person"]), draw.below(2)
    deed, side = draw.one(lexicon().deeds), draw.below(2)
    habit = f"{one.name} {draw.one(one.category.deeds)}"

    def clause() -> str:
        if form == 0:
            return f"{one.name} was {draw.one(scale.poles[pole])}"
        return f"{one.name} {draw.one(deed.sides[side]).past} {two.name}" if form == 1 else habit

    def premise(label: int) -> str:
        claim = lexicon().claims[label]
        return draw.one(
            (
                f"{stage.three.name} {stage.word(claim.verbs)} that {clause()}",
                f"{stage.three.name} {stage.word(claim.verbs)} {draw.one(SEASONS)} that {clause()}",
                f"it was a {stage.word(claim.nouns)} that {clause()}",
                f"the {stage.word(claim.nouns)} {draw.one(SEASONS)} was that {clause()}",
            )
        )

    return clause(), premise


_SCENES: tuple[Scene, ...] = (
    (_claim,) * 17 + (_sort,) * 2 + (_choice,) * 4 + (_kind,) * 4 + (_trait,) * 2 + (_deed,) * 2 + (_order,) * 2
    + (_treatment, _transfer, _possession, _comparison, _journey)
)  # fmt: skip
