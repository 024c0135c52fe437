"""Coreference resolution: short documents on two people and a thing, with pronouns, names and descriptions.

Words alone do not link these mentions. A description is the class of a kind, as `the artisan` for whom a sentence
called a weaver, or a synonym of an adjective, as `the bold person` for whom a sentence called brave. A pronoun means
the person whom the sentence before was about.
"""

from typing import Any

from bertlab.synthetic.language import TEMPLATES, WORDS, marked, text
from bertlab.synthetic.sayings import Sample
from bertlab.synthetic.world import Being, lexicon, named, unnamed

_TEMPLATES = TEMPLATES["coreference"]
FACTS = 3
"""Sentences behind those that introduce the people and the thing."""


def coreference_resolution(sample: Sample) -> dict[str, Any]:
    """A document as `sentences`, lists of words, and `clusters`, lists of the first and last words of mentions."""
    document = _Document(sample)
    facts = (document.act, document.use, document.habit)
    clauses = [document.introduce(0), document.introduce(1), document.gift()]
    clauses += [sample.draw.one(facts)() for _ in range(FACTS)]
    sentences: list[list[str]] = []
    clusters: dict[str, list[list[int]]] = {}
    start = 0
    for clause in clauses:
        words: list[str] = []
        for number, mention in marked(clause):
            if number:
                first = start + len(words)
                clusters.setdefault(number, []).append([first, first + len(mention) - 1])
            words += mention
        words[0] = words[0].capitalize()
        sentences.append(words)
        start += len(words)
    return {"sentences": sentences, "clusters": [cluster for cluster in clusters.values() if len(cluster) > 1]}


class _Document:
    """Two people of different classes, at the opposite poles of a scale, and a thing."""

    def __init__(self, sample: Sample) -> None:
        self.sample, self.draw = sample, sample.draw
        self.people = [sample.named(), sample.named()]
        while self.people[1].category is self.people[0].category or self.people[1].name == self.people[0].name:
            self.people[1] = sample.named()
        for being in self.people:
            being.kind = sample.word(being.category.kinds)
        self.thing = unnamed(sample.draw, "thing")
        self.thing.kind = sample.word(self.thing.category.kinds)
        scale, pole = sample.word(lexicon().scales["person"]), sample.draw.below(2)
        self.adjectives = [scale.poles[pole], scale.poles[1 - pole]]
        self.called = [sample.draw.one(words) for words in self.adjectives]
        self.topic: int | None = None
        self.seen = False
        """Whether the sentence before is about the thing."""

    def introduce(self, number: int) -> str:
        """Says the name, the kind and a quality of a person."""
        being, self.topic = self.people[number], number
        values = {"who": f"<{number}:{being.full}>", "kind": being.kind, "adjective": self.called[number]}
        location = named(self.draw, "place", self.sample.pool)
        return text(self.draw, _TEMPLATES["introduce"], values | {"place": location.name})

    def person(self, number: int, form: str = "object") -> str:
        """A mention of a person: most often a pronoun if the sentence before is about them."""
        being = self.people[number]
        if self.topic == number and self.draw.chance(0.75):
            words = str(getattr(being, form))
        elif self.draw.chance(0.1):
            words = being.name
        elif self.draw.chance(0.5):
            words = f"the {being.category.name}"
        else:
            words = f"the {self.draw.other(self.adjectives[number], self.called[number])} {being.sort}"
        return f"<{number}:{words}>"

    def pair(self) -> tuple[str, str, int]:
        """Mentions of the people as a subject and as an object, and who the subject is."""
        one = self.draw.below(2)
        return self.person(one, "subject"), self.person(1 - one), one

    def gift(self) -> str:
        """One person gives the thing to the other."""
        subject, other, self.topic = self.pair()
        self.seen = True
        verb = self.draw.one(self.draw.one(lexicon().transfers).sides[0])
        return f"{subject} {verb.past} <2:a {self.thing.kind}> to {other}"

    def act(self) -> str:
        """One person does something to the other."""
        subject, other, self.topic = self.pair()
        self.seen = False
        verb = self.draw.one(self.draw.one(self.draw.one(lexicon().deeds).sides))
        values = {"subject": subject, "other": other, "verb": verb}
        return text(self.draw, _TEMPLATES["act"], values)

    def use(self) -> str:
        """A person does something with the thing, which is `it` if the sentence before is about it."""
        subject, _, self.topic = self.pair()
        was_seen, self.seen = self.seen, True
        thing = "it" if was_seen and self.draw.chance(0.75) else f"the {self.thing.category.name}"
        return f"{subject} {self.draw.one(self.thing.category.deeds)} <2:{thing}>"

    def habit(self) -> str:
        """Something that a person is known for."""
        subject, _, self.topic = self.pair()
        self.seen = False
        being: Being = self.people[self.topic]
        values = {"subject": subject, "deed": being.category.deeds, "part": being.category.part}
        values |= {"own": f"<{self.topic}:{being.possessive}>", "when": self.draw.one(WORDS["season"])}
        return text(self.draw, _TEMPLATES["habit"], values)
