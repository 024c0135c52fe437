"""Extractive question answering in the format of SQuAD: facts, and a question about one of them in other words."""

from typing import Any

from bertlab.synthetic import language
from bertlab.synthetic.language import TEMPLATES, sentence, text
from bertlab.synthetic.lexicon import lexicon
from bertlab.synthetic.sayings import Sample
from bertlab.synthetic.world import Being, unnamed

_TEMPLATES = TEMPLATES["questions"]


def fact(sample: Sample, one: Being, two: Being, topic: str) -> tuple[str, str, str]:
    """A fact about `one`, and for some topics `two`: a clause, a question, and its answer as in the clause."""
    draw, words = sample.draw, lexicon()
    values: dict[str, Any] = {"one": one, "two": two}
    if topic == "deed":
        verbs, side = draw.one(words.deeds), draw.below(2)
        values["verb"] = draw.one(verbs.sides[side])
        values["clause"] = language.deed(draw, one.name, verbs, side, two.name)
    elif topic == "transfer":
        verbs, thing = draw.one(words.transfers), unnamed(draw, "thing")
        clause = language.transfer(draw, one.name, two.name, verbs, f"the {thing.kind}", draw.below(2))
        give, get = draw.one(verbs.sides[0]), draw.one(verbs.sides[1])
        values |= {"thing": thing, "clause": clause, "give": give, "get": get}
    elif topic == "journey":
        values |= {"here": sample.named("place"), "there": sample.named("place")}
    elif topic == "trait":
        values["adjective"] = draw.one(words.scales["person"]).poles[draw.below(2)]
    elif topic == "job":
        values["job"] = [one.kind, one.category.name]
    elif topic == "dealing":
        other = sample.named(draw.one(("place", "group", "work")))
        values |= {"other": other, "dealt": words.dealings[other.on], "noun": [other.kind, other.category.name]}
    clause = text(draw, _TEMPLATES[topic]["clause"], values)
    questions = _TEMPLATES[topic]["questions"]
    question, answer = draw.one(questions) if len(questions) > 1 else questions[0]
    return clause, text(draw, question, values), text(draw, answer, values)


def extractive(sample: Sample) -> dict[str, Any]:
    """A context, a question and its answer with its start; no answers for label 0."""
    draw = sample.draw
    one, two, three = (sample.named() for _ in range(3))
    facts = []
    for topic in draw.some([*_TEMPLATES], 5 + draw.below(2)):
        about, beside = draw.one(((one, two), (two, one), (one, three)))
        facts.append(fact(sample, about, beside, topic))
    spare, _, _ = facts.pop()  # replaces the fact in question if that is not answerable
    number = draw.below(len(facts))
    clause, question, answer = facts[number]
    clauses = [each for each, _, _ in facts]
    answers: dict[str, list[Any]] = {"text": [], "answer_start": []}
    if not sample.label:
        clauses[number] = spare
    context = " ".join(map(sentence, clauses))
    if sample.label:
        stated = sentence(clause)
        start = context.index(stated) + stated.lower().index(answer.lower())
        answers = {"text": [context[start : start + len(answer)]], "answer_start": [start]}
    return {
        "id": sample.id,
        "title": one.full,
        "context": context,
        "question": sentence(question, "?"),
        "answers": answers,
    }
