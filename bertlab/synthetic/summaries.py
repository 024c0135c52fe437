"""Summaries: a short story, and one sentence on what the person whom it is about did last.

The story is about the one of two people who acts most often. The summary says the class of a kind, as `an artisan` of
whom the story calls a weaver, names people whom the story may call by their kinds, and has one verb for all synonyms.
"""

from typing import Any

from bertlab.synthetic.language import TEMPLATES, WORDS, sentence, text
from bertlab.synthetic.sayings import Sample
from bertlab.synthetic.world import Being, lexicon, unnamed

ACTS = (0, 0, 1)
"""Who acts in the events of a story, in any order: twice the one whom it is about."""


def summary(sample: Sample) -> dict[str, Any]:
    """A story of five sentences as `document`, and its `summary`."""
    draw = sample.draw
    people = _people(sample)
    clauses = [_introduction(sample, being) for being in draw.some(people, 2)]
    did_last = ""
    for number in draw.some(ACTS, len(ACTS)):
        clause, plainly = _event(sample, people[number], people[1 - number])
        clauses.append(clause)
        did_last = did_last if number else plainly
    written = sentence(f"{people[0].name}, a {people[0].category.name}, {did_last}")
    return {"document": " ".join(map(sentence, clauses)), "summary": written}


def _people(sample: Sample) -> tuple[Being, Being]:
    """Two people of different names and classes."""
    one, two = sample.named(), sample.named()
    while one.name == two.name or one.category is two.category:
        two = sample.named()
    for being in (one, two):
        being.kind = sample.word(being.category.kinds)
    return one, two


def _introduction(sample: Sample, being: Being) -> str:
    """Says the name, the kind and a quality of a person."""
    values = {"who": being.name, "kind": being.kind, "place": sample.named("place").name}
    values["adjective"] = sample.adjective("person", sample.draw.below(2))
    return text(sample.draw, TEMPLATES["coreference"]["introduce"], values)


def _event(sample: Sample, agent: Being, patient: Being) -> tuple[str, str]:
    """What someone does to the other person or to a thing: a clause of the story, and what a summary says of it."""
    draw = sample.draw
    deeds, names = lexicon().deeds, [patient.name, f"the {patient.kind}"]
    if draw.chance(0.5):
        deeds, names = lexicon().treatments, [unnamed(draw, "thing").name]
    verbs = draw.one(draw.one(deeds).sides)
    who = draw.one((agent.name, f"the {agent.kind}"))
    when = f" {draw.one(WORDS['season'])}" if draw.chance(0.25) else ""
    return f"{who} {draw.one(verbs).past} {draw.one(names)}{when}", f"{verbs[0].past} {names[0]}"
