"""Documents: each states connected facts about a small cast, many of them twice in different words.

A fact and its restatement are adjacent, so the words on both sides and the neighbouring clauses determine a masked
word: the synonym, the opposite, the class of a kind, the other side of a transfer, the referent of `she`, the
destination of a journey. A sentence from another document interrupts these relations.
"""

from __future__ import annotations

from collections.abc import Iterator

from bertlab.synthetic import language
from bertlab.synthetic.draw import Draw
from bertlab.synthetic.language import CONTRAST, RESTATE, RESULT, SEASONS, sentence
from bertlab.synthetic.lexicon import lexicon, names
from bertlab.synthetic.world import Being, fate, named, trait, unnamed


def tell(draw: Draw) -> str:
    """One document of 6 to 20 sentences on one line."""
    return " ".join(Story(draw).sentences())


def documents(count: int, seed: int, version: int) -> Iterator[str]:
    """`count` documents; document i depends on `seed` and i only."""
    for number in range(count):
        yield tell(Draw("microworld", version, "document", seed, number))


class Story:
    """A cast, the facts about it so far, and the current topic."""

    def __init__(self, draw: Draw) -> None:
        self.pool = pool = names("corpus")
        self.draw = draw
        self.people = [named(draw, "person", pool) for _ in range(2 + draw.chance(0.5))]
        self.places = [named(draw, "place", pool) for _ in range(2)]
        self.others = [named(draw, draw.one(("group", "work")), pool) for _ in range(2)]
        self.animal = unnamed(draw, "animal")
        self.things = [unnamed(draw, "thing") for _ in range(2)]
        self.when = draw.one(SEASONS)
        self.topic: Being | None = None
        self.events: list[str] = []

    def sentences(self) -> list[str]:
        """The document's sentences."""
        length = 6 + self.draw.below(13)
        written = [sentence(clause) for clause in self.introduce(self.people[0])]
        while len(written) < length:
            written += [sentence(clause) for clause in self.draw.one(_BEATS)(self)]
        return written[:20]

    def refer(self, being: Being) -> str:
        """`being` as a subject, mostly a pronoun if it is the topic already; makes it the topic."""
        known, self.topic = self.topic is being, being
        if known and self.draw.chance(0.75):
            return being.subject
        if being.on in ("animal", "thing") and self.draw.chance(0.4):
            return f"the {self.draw.one((being.category.name, being.sort))}"
        if being.on == "person" and self.draw.chance(0.25):
            return f"the {self.draw.one((being.kind, being.category.name, being.noun))}"
        return being.name

    def anyone(self) -> Being:
        """A random member of the cast."""
        pick = self.draw.uniform()
        if pick < 0.42:
            return self.draw.one(self.people)
        if pick < 0.51:
            return self.animal
        if pick < 0.62:
            return self.draw.one(self.things)
        return self.draw.one(self.places) if pick < 0.78 else self.draw.one(self.others)

    def introduce(self, being: Being | None = None) -> list[str]:
        """Introduces someone or something, with a consequence."""
        draw = self.draw
        being = being or self.anyone()
        scale, pole = trait(draw, being)
        one, two = draw.some(scale.poles[pole], 2) if len(scale.poles[pole]) > 1 else (scale.poles[pole][0],) * 2
        self.topic = being
        if being.on in ("animal", "thing"):
            first = draw.one(
                (
                    f"there was a {one} {being.kind} near {self.places[0].name}",
                    f"{self.people[0].name} had a {one} {being.kind}",
                    f"the {being.kind} is a {being.category.name} with a {one} {being.category.part}",
                )
            )
            return [first, f"the {two} {draw.one((being.category.name, being.kind, being.sort))} {self.habit(being)}"]
        form = draw.below(5)
        if form == 0:
            first = f"{being.full} was a {being.kind}, a {one} {being.category.name}"
        elif form == 1:
            first = f"{being.full}, a {being.kind}, was a {one} {being.category.name}"
        elif form == 2:
            first = f"the {being.kind} {being.full} was {one}"
        elif form == 3:
            first = f"once there was a {one} {being.kind} called {being.full}"
        else:
            first = f"everyone in {self.places[being is self.places[0]].name} knew {being.full}, the {one} {being.kind}"
        second = draw.one(
            (
                f"{being.subject} was a {two} {being.category.name}",
                f"like every {being.category.name}, {being.subject} {self.habit(being)}",
                f"the {two} {being.category.name} {self.habit(being)}",
                f"the {being.kind} {self.habit(being)}",
                f"the {two} {being.sort} {self.habit(being)}",
                f"a {being.kind} is a {being.sort}, and {being.subject} {self.habit(being)}",
                f"as a {being.kind}, {being.subject} {self.habit(being)}",
            )
        )
        return [first, second]

    def habit(self, being: Being) -> str:
        """Something that all members of its category do or have."""
        draw = self.draw
        category = being.category
        if being.on == "thing":
            return f"had a {category.part} that people liked"
        if category.deeds and draw.chance(0.7):
            return f"{draw.one(category.deeds)} {self.when}"
        return f"was known for {being.possessive} {category.part}"

    def quality(self) -> list[str]:
        """A trait, restated by a synonym or contrasted with its opposite."""
        draw = self.draw
        being = self.anyone()
        scale, pole = trait(draw, being)
        words = draw.some(scale.poles[pole], len(scale.poles[pole]))
        one, two, most = words[0], words[1], words[-1]
        opposite, contrary = draw.some(scale.poles[1 - pole], 2)
        who = self.refer(being)
        effect, reverse = scale.effects[pole], scale.effects[1 - pole]
        form = draw.below(13)
        if form > 8:
            first = draw.one(
                (
                    f"{who} was {one} and {effect}",
                    f"{who} was {one}, {two} and {most} and {effect}",
                    f"the {one} {being.noun} {effect}",
                )
            )
            return [
                first,
                draw.one(
                    (
                        f"{being.subject} was {two} and {effect}",
                        f"no {opposite} {being.noun} {effect}",
                        f"only the {opposite} and the {contrary} {reverse}",
                    )
                ),
            ]
        if form == 0:
            again = draw.one((being.subject, being.name))
            return [f"{who} was {one} and {two}", f"{draw.one(RESTATE)}, {again} was {most}"]
        if form == 1:
            return [f"{who} was {one} and {two}, never {opposite} or {contrary}"]
        if form == 2:
            return [f"{who} was not {opposite} but {one}", f"{draw.one(RESULT)} {being.subject} was called {two}"]
        if form == 3:
            noun = draw.one((being.noun, being.sort))
            return [f"because {who} was so {one}, everyone called {being.object} the {two} {noun}"]
        if form == 4:
            return [f"everyone said that {who} was {one} and {most}", f"no one called {being.object} {opposite}"]
        if form == 5:
            before = f"{who} had once been {opposite} and {contrary}"
            return [f"{before}, but now {being.subject} was {one}", f"yes, {being.subject} was {two} by now"]
        if form == 6:
            named_too = being.on not in ("animal", "thing")
            mate = named(draw, being.on, self.pool) if named_too else unnamed(draw, being.on)
            return [f"{who} was {one} and {two}, {draw.one(CONTRAST)} {mate.name} was {opposite} and {contrary}"]
        if form == 7:
            return [f"{who} was {one}, {two} and {draw.one(('still', 'also', 'always'))} {most}"]
        return [
            f"{who} was {one}",
            f"{being.subject} was {draw.one(('very', 'quite', 'rather'))} {two} and not {opposite}",
        ]

    def pair(self) -> tuple[Being, Being]:
        """Two people."""
        one, two = self.draw.some(self.people, 2)
        return one, two

    def act(self) -> list[str]:
        """One person does something to another; restated, or contrasted with the opposite."""
        draw = self.draw
        one, two = self.pair()
        verbs = draw.one(lexicon().deeds)
        side = fate(draw, two)
        verb = draw.one(verbs.sides[side])
        again = draw.other(verbs.sides[side], verb)
        against = draw.one(verbs.sides[1 - side])
        agent = self.refer(one)
        effect = verbs.effects[side]
        form = draw.below(8)
        if form == 5:
            return [f"{agent} {verb.past} {two.name}", f"{two.subject} was {again.participle} and {effect}"]
        if form > 5:
            return [
                f"{two.name} was {verb.participle} and {effect}",
                f"it was {one.name} who {again.past} {two.object}",
            ]
        if form == 0:
            return [
                f"{agent} {verb.past} {two.name}",
                f"{draw.one(RESTATE)}, {two.name} was {again.participle} by {one.object}",
            ]
        if form == 1:
            clause = f"{agent} {verb.past} {two.name} and did not {against.base} {two.object}"
            return [clause, f"{draw.one(RESTATE)}, {one.subject} {again.past} {two.object}"]
        if form == 2:
            return [f"{agent} {verb.past} {two.name} and did not {against.base} {two.object}"]
        if form == 3:
            other = named(draw, "person", self.pool)
            clause = f"{agent} {verb.past} and {again.past} {two.name}"
            return [f"{clause}, {draw.one(CONTRAST)} {other.name} {against.past} {two.object}"]
        scale, pole = trait(draw, two)
        word = draw.one(scale.poles[pole])
        return [
            f"{agent} {verb.past} {two.name} because {two.subject} was {word}",
            f"{two.name} was {again.participle} by {one.name} for being {draw.one(scale.poles[pole])}",
        ]

    def handle(self) -> list[str]:
        """A person does something to a thing."""
        draw = self.draw
        one, thing = draw.one(self.people), draw.one(self.things)
        verbs = draw.one(lexicon().treatments)
        side = draw.below(2)
        verb = draw.one(verbs.sides[side])
        again = draw.other(verbs.sides[side], verb)
        against = draw.one(verbs.sides[1 - side])
        agent = self.refer(one)
        form = draw.below(6)
        if form > 3:
            clause = f"{agent} {verb.past} and {again.past} the {thing.kind}"
            return [clause, f"the {thing.category.name} was {again.participle} and {verbs.effects[side]}"]
        if form == 0:
            return [
                f"{agent} {verb.past} the {thing.kind}",
                f"{draw.one(RESTATE)}, the {thing.category.name} was {again.participle} by {one.object}",
            ]
        if form == 1:
            return [f"{agent} {verb.past} the {thing.kind} and did not {against.base} it"]
        if form == 2:
            return [
                f"{agent} {draw.one(thing.category.deeds)} the {thing.kind}",
                f"later {one.subject} {verb.past} the {thing.category.name}",
            ]
        return [
            f"at first {agent} {against.past} the {thing.kind}",
            f"then {one.subject} {verb.past} it",
            f"once the {thing.category.name} was {again.participle}, {one.subject} went home",
        ]

    def exchange(self) -> list[str]:
        """A thing changes hands, from both perspectives."""
        draw = self.draw
        one, two = self.pair()
        thing = draw.one(self.things)
        verbs = draw.one(lexicon().transfers)
        side = draw.below(2)
        self.topic = None
        first = language.transfer(draw, one.name, two.name, verbs, f"a {thing.kind}", side)
        second = language.transfer(
            draw,
            one.name,
            two.name,
            verbs,
            draw.one(("it", f"the {thing.category.name}", f"the {thing.kind}")),
            1 - side,
        )
        clauses = [first, f"{draw.one(RESTATE + RESULT)}, {second}"]
        if draw.chance(0.4):
            clauses.append(f"now {two.name} had the {thing.category.name}, and {one.name} was without it")
        return clauses

    def journey(self) -> list[str]:
        """A person travels from one place to another."""
        draw = self.draw
        one = draw.one(self.people)
        here, there = draw.some(self.places, 2)
        who = self.refer(one)
        way = draw.one(("walked", "travelled", "rode", "went", "hurried", "moved"))
        clauses = [f"{who} left {here.name} and {way} to {there.name}"]
        scale, pole = trait(draw, there)
        look = draw.one(scale.poles[pole])
        clauses.append(
            draw.one(
                (
                    f"people said that {there.name} {draw.one(there.category.deeds)}",
                    f"now {one.subject} was in {there.name}, no longer in {here.name}",
                    f"when {one.subject} arrived in {there.name}, {one.subject} found the {there.kind} {look}",
                    f"{there.name} was a {look} {there.category.name} with a famous {there.category.part}",
                )
            )
        )
        return clauses

    def compare(self) -> list[str]:
        """Compares two people, from both perspectives."""
        draw = self.draw
        one, two = self.pair()
        scale = draw.one(lexicon().scales["person"])
        more, less = (language.comparative(draw.one(pole)) for pole in scale.poles)
        self.topic = None
        first = f"{one.name} was {more} than {two.name}"
        return [first, f"{draw.one(RESTATE + RESULT)}, {two.name} was {less} than {one.name}"]

    def sequence(self) -> list[str]:
        """Two events in order, stated twice; the order is the same in the whole document."""
        draw = self.draw
        self.events = self.events or [f"{being.name} {draw.one(being.category.deeds)}" for being in self.pair()]
        self.topic = None
        first, second = self.events
        return [language.order(draw, first, second), f"{draw.one(RESTATE)}, {language.order(draw, first, second)}"]

    def dealing(self) -> list[str]:
        """A person's relation to a place, a group or a work."""
        draw = self.draw
        one = draw.one(self.people)
        other = draw.one(self.others + self.places)
        first = f"{self.refer(one)} {draw.one(lexicon().dealings[other.on])} {other.full} {self.when}"
        noun = draw.one((other.kind, other.category.name, other.sort))
        if draw.chance(0.4):
            return [first, f"the {noun} {draw.one(other.category.deeds)}"]
        scale, pole = trait(draw, other)
        again = f"{one.subject} {draw.one(lexicon().dealings[other.on])} it {draw.one(('gladly', 'again', 'often'))}"
        return [first, f"the {noun} was {draw.one(scale.poles[pole])}, and {again}"]

    def claim(self) -> list[str]:
        """Someone makes a claim that is true, open or false."""
        draw = self.draw
        about = self.anyone()
        scale, pole = trait(draw, about)
        status = draw.below(3)
        claim = lexicon().claims[status]
        side = (pole, draw.below(2), 1 - pole)[status]
        statement = f"{about.name} was {draw.one(scale.poles[side])}"
        tail = draw.one(claim.tails)
        manner, quality = draw.one(claim.manners), draw.one(claim.qualities)
        form = draw.below(8)
        if form < 3:
            one, two = draw.one(claim.nouns), draw.one(claim.nouns)
            if form == 0:
                return [f"it was a {quality} {one} that {statement}, {tail}"]
            if form == 1:
                return [f"the {quality} {one} {draw.one(claim.places)}", f"it was a {two} that {statement}"]
            return [f"a {two} is a {quality} {one}", f"the {one} {draw.one(claim.places)}"]
        who = self.refer(draw.one(self.people))
        one, two = draw.one(claim.verbs), draw.one(claim.verbs)
        if form == 3:
            return [f"{who} {manner} {one} that {statement}, {tail}", f"the town {two} {draw.one(claim.objects)}"]
        if form == 4:
            return [f"{who} {one} and {two} that {statement}, {tail}"]
        if form == 5:
            return [f"{who} {one} {draw.one(claim.objects)} and {two} that {statement}"]
        return [f"{who} {one} {draw.one(claim.objects)} and {manner} {two} {draw.one(claim.objects)}"]


_BEATS = (
    (Story.introduce,) * 6 + (Story.quality,) * 4 + (Story.claim,) * 7 + (Story.dealing,) * 4 + (Story.act,) * 2
    + (Story.handle, Story.exchange, Story.journey, Story.compare, Story.sequence)
)  # fmt: skip
