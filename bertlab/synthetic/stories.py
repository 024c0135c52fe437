"""Documents: each states connected facts about a small cast, many of them twice in different words.

A fact and its restatement are adjacent, so neighbouring clauses determine a masked word, such as a synonym, the class
of a kind or the referent of `she`. A sentence from another document interrupts these relations.
"""

from collections.abc import Iterator
from typing import Any

from bertlab.synthetic.language import TEMPLATES, VERSION, WORDS, Draw, sentence, text
from bertlab.synthetic.world import Being, Verbs, fate, lexicon, named, names, trait, transfer, unnamed

DOCUMENTS = 12_000
"""The documents of the default corpus: about 1.6 million tokens with a vocabulary of 4,096."""
BYTES = 6_811_157
"""The size of their text."""
_TEMPLATES = TEMPLATES["story"]
_LINKS = WORDS["restate"] + WORDS["result"]
# fmt: off
_MENU = (
    "Home", "About us", "Contact", "News", "Log in", "Sign up", "Search", "Places", "People", "Works", "Help",
    "Older posts", "Newer posts", "Share this", "Skip to content", "Related pages", "Read more", "Archive",
    "Photos", "Questions",
)
_NOTICES = (
    "This page uses cookies to show you what you like.", "Please enable JavaScript to see all of this page.",
    "By reading on you accept our privacy policy and the rest.", "Sign up!", "Was this good? Yes. No.",
)
_FOOTER = ("We write a letter to our readers every week.", "You can stop it when you like.", "It costs you nothing.")
_DUMMY = ["Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore."] * 3
_CODE = ["function show(page) { return page.next(); }", "The page shows what the others had shown before it."] * 3
# fmt: on


def documents(count: int = DOCUMENTS, seed: int = 0) -> Iterator[str]:
    """`count` documents of 6 to 20 sentences, each one line of ASCII; document i depends on `seed` and i only."""
    for number in range(count):
        yield " ".join(_sentences(number, seed))


def pages(count: int = DOCUMENTS, seed: int = 0) -> Iterator[str]:
    """The same documents as pages of the web: paragraphs of some sentences, a line each, among menus, notices, lines
    that are cut and texts that many pages have. One of ten is a price list, or shows code or dummy text instead."""
    for number in range(count):
        draw = Draw("microworld", VERSION, "page", seed, number)
        story = _sentences(number, seed)
        menu = draw.some(_MENU, 6 + draw.below(6))
        lines = [" ".join(story[0].split()[:4]), *menu]
        if draw.chance(0.1):
            goods = draw.some(story[1].rstrip(".").split(), 3)
            lines += draw.one((_DUMMY, _CODE, [f"{good}: {draw.below(90)} coins" for good in goods * 4]))
            story = []
        while story:
            paragraph = story[: 2 + draw.below(3)]
            story = story[len(paragraph) :]
            lines.append(" ".join(paragraph))
            if draw.chance(0.5):
                words = draw.one(paragraph).split()
                lines.append(" ".join(words[: 2 + draw.below(len(words) - 2)]).rstrip(".") + draw.one(("", " ...")))
            if draw.chance(0.3):
                lines.append(draw.one(_NOTICES))
        yield "\n".join([*lines, *([" ".join(_FOOTER)] if draw.chance(0.6) else []), *menu[:4]])


def _sentences(number: int, seed: int) -> list[str]:
    """The sentences of a document."""
    draw = Draw("microworld", VERSION, "document", seed, number)
    story = Story(draw)
    length = 6 + draw.below(13)
    clauses = story.introduce(story.people[0])
    while len(clauses) < length:
        clauses += draw.one(_BEATS)(story)
    return [*map(sentence, clauses[:20])]


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
        self.when = draw.one(WORDS["season"])
        self.topic: Being | None = None
        self.events: list[str] = []

    def clauses(self, templates: list[str | list[str]], values: dict[str, Any]) -> list[str]:
        """A clause for each of the templates, or for each list of alternatives."""
        return [text(self.draw, template, values) for template in templates]

    def form(self, beat: str, last: int = 2) -> str:
        """The name of one of the beat's templates; the last is `last` times as frequent as each other."""
        forms: list[str] = [*_TEMPLATES[beat]]
        return self.draw.one(forms + forms[-1:] * (last - 1))

    def refer(self, being: Being) -> str:
        """`being` as a subject, mostly a pronoun if it is the topic already; makes it the topic."""
        was_topic, self.topic = self.topic is being, being
        if was_topic and self.draw.chance(0.75):
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
        topic = self.topic = being or self.anyone()
        scale, pole = trait(draw, topic)
        one, two = draw.some(scale.poles[pole], 2)

        def habit() -> str:
            """Something that all members of its category do or have."""
            if topic.on == "thing":
                return f"had a {topic.category.part} that people liked"
            if draw.chance(0.7):
                return f"{draw.one(topic.category.deeds)} {self.when}"
            return f"was known for {topic.possessive} {topic.category.part}"

        values = {"being": topic, "one": one, "two": two, "habit": habit}
        values |= {"owner": self.people[0], "place": self.places[topic is self.places[0]]}
        values["noun"] = [topic.category.name, topic.kind, topic.sort]
        form = "introduce-unnamed" if topic.on in ("animal", "thing") else "introduce-named"
        return self.clauses(_TEMPLATES[form], values)

    def quality(self) -> list[str]:
        """A trait, restated by a synonym or contrasted with its opposite."""
        draw = self.draw
        being = self.anyone()
        scale, pole = trait(draw, being)
        words = draw.some(scale.poles[pole], len(scale.poles[pole]))
        opposite, contrary = draw.some(scale.poles[1 - pole], 2)
        values = {"being": being, "one": words[0], "two": words[1], "most": words[-1]}
        values |= {"opposite": opposite, "contrary": contrary, "noun": [being.noun, being.sort]}
        values |= {"effect": scale.effects[pole], "reverse": scale.effects[1 - pole], "who": self.refer(being)}
        form = self.form("quality", last=4)
        if form == "restated":
            values["called"] = draw.one((being.subject, being.name))
        if form == "compared":
            unnamed_too = being.on in ("animal", "thing")
            values["other"] = unnamed(draw, being.on) if unnamed_too else named(draw, being.on, self.pool)
        return self.clauses(_TEMPLATES["quality"][form], values)

    def verbs(self, verbs: Verbs, side: int) -> dict[str, Any]:
        """Two verbs of one side with their effect, and one of the opposite side."""
        verb = self.draw.one(verbs.sides[side])
        again = self.draw.other(verbs.sides[side], verb)
        against = self.draw.one(verbs.sides[1 - side])
        return {"verb": verb, "again": again, "against": against, "effect": verbs.effects[side]}

    def act(self) -> list[str]:
        """One person does something to another; restated, or contrasted with the opposite."""
        one, two = self.draw.some(self.people, 2)
        verbs = self.draw.one(lexicon().deeds)
        values = self.verbs(verbs, fate(self.draw, two))
        values |= {"one": one, "two": two, "agent": self.refer(one)}
        form = self.form("act")
        if form == "compared":
            values["other"] = named(self.draw, "person", self.pool)
        if form == "reason":
            scale, pole = trait(self.draw, two)
            values["trait"] = scale.poles[pole]
        return self.clauses(_TEMPLATES["act"][form], values)

    def handle(self) -> list[str]:
        """A person does something to a thing."""
        one, thing = self.draw.one(self.people), self.draw.one(self.things)
        verbs = self.draw.one(lexicon().treatments)
        values = self.verbs(verbs, self.draw.below(2))
        values |= {"one": one, "thing": thing, "used": thing.category.deeds, "agent": self.refer(one)}
        return self.clauses(_TEMPLATES["handle"][self.form("handle")], values)

    def exchange(self) -> list[str]:
        """A thing changes hands, from both perspectives."""
        draw, self.topic = self.draw, None
        giver, receiver = (being.name for being in draw.some(self.people, 2))
        thing = draw.one(self.things)
        verbs = draw.one(lexicon().transfers)
        side = draw.below(2)
        first = transfer(draw, giver, receiver, verbs, f"a {thing.kind}", side)
        again = draw.one(("it", f"the {thing.category.name}", f"the {thing.kind}"))
        second = transfer(draw, giver, receiver, verbs, again, 1 - side)
        clauses = [first, f"{draw.one(_LINKS)}, {second}"]
        if draw.chance(0.4):
            clauses.append(f"now {receiver} had the {thing.category.name}, and {giver} was without it")
        return clauses

    def journey(self) -> list[str]:
        """A person travels from one place to another."""
        draw = self.draw
        one = draw.one(self.people)
        here, there = draw.some(self.places, 2)
        left = f"{self.refer(one)} left {here.name} and {draw.one(WORDS['moved'])} to {there.name}"
        scale, pole = trait(draw, there)
        look = draw.one(scale.poles[pole])
        values = {"one": one, "here": here, "there": there, "look": look, "deed": there.category.deeds}
        return [left, text(draw, _TEMPLATES["journey"], values)]

    def compare(self) -> list[str]:
        """Compares two people, from both perspectives."""
        one, two = self.draw.some(self.people, 2)
        scale = self.draw.one(lexicon().scales["person"])
        words = [self.draw.one(pole) for pole in scale.poles]
        more, less = (TEMPLATES["comparatives"].get(word, f"more {word}") for word in words)
        self.topic = None
        second = f"{two.name} was {less} than {one.name}"
        return [f"{one.name} was {more} than {two.name}", f"{self.draw.one(_LINKS)}, {second}"]

    def sequence(self) -> list[str]:
        """Two events in order, stated twice; the order is the same in the whole document."""
        draw, self.topic = self.draw, None
        if not self.events:
            self.events = [f"{being.name} {draw.one(being.category.deeds)}" for being in draw.some(self.people, 2)]
        events = {"first": self.events[0], "second": self.events[1]}
        first = text(draw, _TEMPLATES["order"], events)
        return [first, f"{draw.one(WORDS['restate'])}, {text(draw, _TEMPLATES['order'], events)}"]

    def dealing(self) -> list[str]:
        """A person's relation to a place, a group or a work."""
        draw = self.draw
        one = draw.one(self.people)
        other = draw.one(self.others + self.places)
        dealings = lexicon().dealings[other.on]
        first = f"{self.refer(one)} {draw.one(dealings)} {other.full} {self.when}"
        noun = draw.one((other.kind, other.category.name, other.sort))
        if draw.chance(0.4):
            return [first, f"the {noun} {draw.one(other.category.deeds)}"]
        scale, pole = trait(draw, other)
        again = f"{one.subject} {draw.one(dealings)} it {draw.one(WORDS['again'])}"
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
        values = {"statement": statement, "object": claim.objects, "predicate": claim.places}
        values |= {"tail": draw.one(claim.tails), "manner": draw.one(claim.manners)}
        values["quality"] = draw.one(claim.qualities)
        form, words = self.form("claim"), claim.nouns
        if form.startswith("verb"):
            values["who"], words = self.refer(draw.one(self.people)), claim.verbs
        values |= {"one": draw.one(words), "two": draw.one(words)}
        return self.clauses(_TEMPLATES["claim"][form], values)


_BEATS = (
    (Story.introduce,) * 6 + (Story.quality,) * 4 + (Story.claim,) * 7 + (Story.dealing,) * 4 + (Story.act,) * 2
    + (Story.handle, Story.exchange, Story.journey, Story.compare, Story.sequence)
)  # fmt: skip
