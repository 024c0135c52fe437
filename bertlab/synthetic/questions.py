"""Facts and questions about them: question-sentence inference, extractive question answering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bertlab.synthetic import language
from bertlab.synthetic.draw import Draw
from bertlab.synthetic.language import sentence
from bertlab.synthetic.lexicon import lexicon
from bertlab.synthetic.stage import FALSE, OPEN, TRUE, Stage
from bertlab.synthetic.world import Being, named, unnamed


@dataclass(frozen=True)
class Fact:
    """A fact as a clause, a question about it in other words, and its answer as in the clause."""

    clause: str
    question: str
    answer: str
    topic: int
    """The kind of the fact, 0 to 5."""


def fact(draw: Draw, one: Being, two: Being, pool: Sequence[str], topic: int) -> Fact:
    """A fact of kind `topic` (0 to 5) about `one`, and for some kinds `two`."""
    words = lexicon()
    if topic == 0:
        verbs, side = draw.one(words.deeds), draw.below(2)
        verb = draw.one(verbs.sides[side])
        clause = language.deed(draw, one.name, verbs, side, two.name)
        if draw.chance(0.5):
            return Fact(clause, f"who {verb.past} {two.name}", one.name, topic)
        return Fact(clause, f"whom did {one.name} {verb.base}", two.name, topic)
    if topic == 1:
        transfers, thing = draw.one(words.transfers), unnamed(draw, "thing")
        clause = language.transfer(draw, one.name, two.name, transfers, f"the {thing.kind}")
        give, get = draw.one(transfers[0]), draw.one(transfers[1])
        return draw.one(
            (
                Fact(clause, f"what did {one.name} {give.base} to {two.name}", f"the {thing.kind}", topic),
                Fact(clause, f"what did {two.name} {get.base} from {one.name}", f"the {thing.kind}", topic),
                Fact(clause, f"who {get.past} the {thing.kind}", two.name, topic),
                Fact(clause, f"who {give.past} the {thing.kind}", one.name, topic),
            )
        )
    if topic == 2:
        here, there = named(draw, "place", pool), named(draw, "place", pool)
        way = draw.one(("walked", "travelled", "rode", "went", "hurried", "moved"))
        clause = f"{one.name} left {here.name} and {way} to {there.name}"
        return draw.one(
            (
                Fact(clause, f"where did {one.name} go", there.name, topic),
                Fact(clause, f"which place did {one.name} leave", here.name, topic),
            )
        )
    if topic == 3:
        scale, pole = draw.one(words.scales["person"]), draw.below(2)
        clause = f"{one.name} was {draw.one(scale.poles[pole])}"
        return Fact(clause, f"who was {draw.one(scale.poles[pole])}", one.name, topic)
    if topic == 4:
        clause = f"{one.name} worked as a {one.kind}"
        return Fact(clause, f"who was a {draw.one((one.kind, one.category.name))}", one.name, topic)
    other = named(draw, draw.one(("place", "group", "work")), pool)
    clause = f"{one.name} {draw.one(words.dealings[other.on])} the {other.kind} {other.name}"
    return Fact(clause, f"which {draw.one((other.kind, other.category.name))} did {one.name} know", other.name, topic)


TOPICS = 6


STATUSES = (TRUE, FALSE, OPEN)
_ASKED = ("of what was {who} rightly sure", "what did {who} wrongly claim", "of what was {who} quite unsure")


def question_inference(draw: Draw, label: int, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """A question whether someone knew, guessed or lied, and a sentence with a claim of that status (0) or not (1)."""
    stage = Stage.of(draw, pool, rare=rare)
    number = stage.item(range(3))
    saying = stage.saying(STATUSES[draw.other(range(3), number) if label else number])
    return {
        "question": sentence(_ASKED[number].format(who=stage.two.name), "?"),
        "sentence": sentence(f"{stage.two.name} {saying} that {stage.one.name} {stage.deed}"),
        "label": label,
    }


def extractive(draw: Draw, answerable: bool, pool: Sequence[str], number: str) -> dict[str, Any]:
    """A context, a question and its answer with its start; no answers if not `answerable`."""
    one, two, three = (named(draw, "person", pool) for _ in range(3))
    # the last fact is spare: it replaces the fact in question if that is not answerable
    topics = draw.some(range(TOPICS), 5 + draw.below(2))
    facts = []
    for topic in topics:
        about, beside = draw.one(((one, two), (two, one), (one, three)))
        facts.append(fact(draw, about, beside, pool, topic))
    spare = facts.pop()
    asked = facts[draw.below(len(facts))]
    context = " ".join(sentence((each if answerable or each is not asked else spare).clause) for each in facts)
    answers: dict[str, list[Any]] = {"text": [], "answer_start": []}
    if answerable:
        stated = sentence(asked.clause)
        at = context.index(stated) + stated.lower().index(asked.answer.lower())
        answers = {"text": [context[at : at + len(asked.answer)]], "answer_start": [at]}
    return {
        "id": number,
        "title": one.full,
        "context": context,
        "question": sentence(asked.question, "?"),
        "answers": answers,
    }
