"""The words of the synthetic world, from lexicon.toml: adjectives, kinds of things, verbs; part of the kinds and all
names are invented from syllables.

Which adjectives mean the same and which the opposite, what is a kind of what, which verb is the converse of which: no
task states it. The documents show it in use, so pre-training can learn it and a few thousand examples cannot.
"""

import functools
import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from bertlab.synthetic.draw import Draw

VERBS_PER_CLAIM, NOUNS_PER_CLAIM = 30, 12
"""Invented ones included."""
NAMES = 4_800


@dataclass(frozen=True)
class Scale:
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
    """A verb with its base form, past tense and participle."""

    base: str
    past: str
    participle: str


@dataclass(frozen=True)
class Verbs:
    """Verbs with the same meaning (side 0), and their opposites or converses (side 1)."""

    sides: list[list[Verb]]
    effects: list[str] = field(default_factory=list)
    """The reaction to each side."""


@dataclass(frozen=True)
class Claim:
    """Words that give a claim one status: what someone `knew` is true."""

    verbs: list[str]
    nouns: list[str]
    manners: list[str]
    """Adverbs for the verbs."""
    qualities: list[str]
    """Adjectives for the nouns."""
    objects: list[str]
    """Objects of the verbs in sentences without a claim."""
    places: list[str]
    """Predicates of the nouns."""
    tails: list[str]
    """Clauses after the claim that state its status."""


@dataclass(frozen=True)
class Lexicon:
    """All words. Tables of beings are person, place, group, work, animal and thing."""

    nouns: dict[str, str]
    """The most general noun of each table."""
    scales: dict[str, list[Scale]]
    categories: dict[str, list[Category]]
    deeds: list[Verbs]
    treatments: list[Verbs]
    transfers: list[Verbs]
    dealings: dict[str, list[str]]
    claims: list[Claim]
    """Words for what is true (0), open (1) and false (2)."""
    names: list[str]


@functools.cache
def lexicon() -> Lexicon:
    """The words of the synthetic world, built once per process."""
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    draw = Draw("microworld", "words")
    taken = set(re.findall("[a-z-]+", json.dumps(tables)))
    syllables, invented = tables["syllables"], tables["invented"]

    def invent(ends: str, long: float = 0.0) -> str:
        """A new word of two syllables, or of three with probability `long`."""
        while True:
            middles = 2 if long and draw.chance(long) else 1
            word = draw.one(syllables["onsets"])
            for _ in range(middles):
                word += draw.one(syllables["vowels"]) + draw.one(syllables["middles"])
            word = re.sub(r"(.)\1\1", r"\1\1", word + draw.one(syllables[ends]))
            if word not in taken:
                taken.add(word)
                return word

    def filled(words: list[str], size: int, ends: str) -> list[str]:
        """The words, and invented ones up to `size`."""
        return words + [invent(ends) for _ in range(size - len(words))]

    def verbs(name: str) -> list[Verbs]:
        return [
            Verbs([[Verb(*forms.split()) for forms in side] for side in each["sides"]], each.get("effects", []))
            for each in tables[name]
        ]

    categories = {
        on: [
            Category(**each | {"kinds": filled(each["kinds"], len(each["kinds"]) + invented[on], "kind_ends")})
            for each in group
        ]
        for on, group in tables["categories"].items()
    }
    claims = []
    for each in tables["claims"]:
        more = {
            "verbs": filled(each["verbs"], VERBS_PER_CLAIM, "verb_ends"),
            "nouns": filled(each["nouns"], NOUNS_PER_CLAIM, "kind_ends"),
        }
        claims.append(Claim(**each | more))
    return Lexicon(
        nouns=tables["nouns"],
        scales={on: [Scale(**each) for each in group] for on, group in tables["scales"].items()},
        categories=categories,
        deeds=verbs("deeds"),
        treatments=verbs("treatments"),
        transfers=verbs("transfers"),
        dealings=tables["dealings"],
        claims=claims,
        names=[invent("name_ends", long=0.1).capitalize() for _ in range(NAMES)],
    )


@functools.cache
def names(split: str) -> list[str]:
    """The names of a task's split. Splits share no names; documents (`corpus`) use all of them."""
    bounds = {"corpus": (0, 1), "train": (0, 0.5), "validation": (0.5, 0.75), "test": (0.75, 1)}[split]
    first, end = (int(bound * NAMES) for bound in bounds)
    return lexicon().names[first:end]
