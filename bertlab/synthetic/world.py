"""The synthetic world: its words, from lexicon.toml, its inhabitants, and what they do to each other.

Which words mean the same and which the opposite, what is a kind of what: no task states it. The documents show it in
use, so pre-training can learn it and a few thousand examples cannot.
"""

import functools
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bertlab.synthetic.language import TEMPLATES, Draw, text

NAMED = {"person": "PER", "place": "LOC", "group": "ORG", "work": "MISC"}
"""The entity type of what has a name. Every name can belong to every type; only the context distinguishes them."""


@dataclass(frozen=True)
class Dimension:
    """A dimension with two poles, each a list of adjectives that mean the same."""

    poles: list[list[str]]
    effects: list[str]
    """The effect of each pole, as a verb phrase."""
    moral: bool = False
    """Whether the first pole is good and the second bad."""


@dataclass(frozen=True)
class Category:
    """A class of kinds: `bird` with its kinds, and what its members do or what people do with them."""

    name: str
    kinds: list[str]
    deeds: list[str]
    part: str
    """A part of a member (an animal, a thing) or a tool (of a person)."""


@dataclass(frozen=True)
class Verb:
    """The forms of a verb."""

    base: str
    past: str
    participle: str


@dataclass(frozen=True)
class Verbs:
    """Verbs with the same meaning (side 0), their opposites or converses (side 1), and the reaction to each side."""

    sides: list[list[Verb]]
    effects: list[str]


@dataclass(frozen=True)
class Certainty:
    """Words that give a claim one status: what someone `knew` is true."""

    verbs: list[str]
    nouns: list[str]
    manners: list[str]
    qualities: list[str]
    objects: list[str]
    places: list[str]
    tails: list[str]


@dataclass(frozen=True)
class Lexicon:
    """All words, as lexicon.toml explains them. Tables of beings are person, place, group, work, animal and thing."""

    nouns: dict[str, str]
    scales: dict[str, list[Dimension]]
    categories: dict[str, list[Category]]
    deeds: list[Verbs]
    treatments: list[Verbs]
    transfers: list[Verbs]
    dealings: dict[str, list[str]]
    claims: list[Certainty]
    """Words for what is true (0), open (1) and false (2)."""
    names: list[str]


@functools.cache
def lexicon() -> Lexicon:
    """The words of the synthetic world, read once per process."""
    tables = tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text(encoding="utf-8"))
    for name in ("deeds", "treatments", "transfers"):
        tables[name] = [
            Verbs([[Verb(*forms.split()) for forms in side] for side in table["sides"]], table.get("effects", []))
            for table in tables[name]
        ]
    for name, form in (("scales", Dimension), ("categories", Category)):
        tables[name] = {on: [form(**fields) for fields in group] for on, group in tables[name].items()}
    tables["claims"] = [Certainty(**fields) for fields in tables["claims"]]
    every = Path(__file__).with_name("names.txt").read_text(encoding="utf-8").split()
    return Lexicon(names=every, **tables)


@functools.cache
def names(split: str) -> list[str]:
    """The names of a task's split. Splits share no names; documents (`corpus`) use all of them."""
    every = lexicon().names
    low, high = {"corpus": (0, 4), "train": (0, 2), "validation": (2, 3), "test": (3, 4)}[split]
    return every[len(every) * low // 4 : len(every) * high // 4]


@dataclass(slots=True)
class Being:
    """Someone or something that sentences are about."""

    on: str
    """The table of the lexicon: person, place, group, work, animal or thing."""
    name: str
    """A short name; for an animal or a thing its kind, as `the brossle`."""
    full: str
    kind: str
    category: Category
    noun: str
    """A general noun: `woman`, `man` or the category."""
    subject: str = "it"
    object: str = "it"
    possessive: str = "its"
    good: bool = True
    """Whether most of its traits are good and most deeds treat it well; otherwise the opposite."""
    traits: dict[int, int] = field(default_factory=dict)
    """The pole on each scale, by the index of the scale."""

    @property
    def sort(self) -> str:
        """The most general noun of its table."""
        return lexicon().nouns[self.on]


def named(draw: Draw, on: str, names: Sequence[str]) -> Being:
    """A being with a name of one or two words from `names`."""
    category = draw.one(lexicon().categories[on])
    name = draw.one(names)
    full = f"{name} {draw.one(names)}" if draw.chance(0.35) else name
    kind, female, good = draw.one(category.kinds), draw.chance(0.5), draw.chance(0.5)
    if on != "person":
        return Being(on, full, full, kind, category, category.name, good=good)
    forms = ("woman", "she", "her", "her") if female else ("man", "he", "him", "his")
    return Being(on, name, full, kind, category, *forms, good=good)


def unnamed(draw: Draw, on: str) -> Being:
    """An animal or a thing."""
    category = draw.one(lexicon().categories[on])
    kind = draw.one(category.kinds)
    return Being(on, f"the {kind}", f"the {kind}", kind, category, category.name, good=draw.chance(0.5))


def trait(draw: Draw, being: Being) -> tuple[Dimension, int]:
    """A random scale and the pole of `being` on it, which stays the same once drawn."""
    scales = lexicon().scales[being.on]
    number = draw.below(len(scales))
    pole = fate(draw, being) if scales[number].moral else draw.below(2)
    return scales[number], being.traits.setdefault(number, pole)


def fate(draw: Draw, being: Being) -> int:
    """0 for good and 1 for bad; in nine of ten draws as `being` is."""
    return int(being.good == draw.chance(0.1))


def deed(draw: Draw, agent: str, verbs: Verbs, side: int, patient: str) -> str:
    """`agent` did the deed of one `side` of `verbs` to `patient`, in either voice."""
    verb = draw.one(verbs.sides[side])
    return f"{patient} was {verb.participle} by {agent}" if draw.chance(0.3) else f"{agent} {verb.past} {patient}"


def transfer(draw: Draw, giver: str, receiver: str, verbs: Verbs, thing: str, side: int) -> str:
    """`thing` went from `giver` to `receiver`, as seen by the giver (`side` 0) or the receiver (1)."""
    verb = draw.one(verbs.sides[side])
    template = "given-two-objects" if verb.base in ("lend", "give", "hand", "sell") else "given"
    values = {"giver": giver, "receiver": receiver, "thing": thing, "verb": verb}
    return text(draw, TEMPLATES["transfer"]["received" if side else template], values)
