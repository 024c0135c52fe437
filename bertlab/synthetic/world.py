"""The inhabitants of the synthetic world: named people, places, groups and works; animals and things without names."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.lexicon import Category, Scale, lexicon

NAMED = {"person": "PER", "place": "LOC", "group": "ORG", "work": "MISC"}
"""The entity type of what has a name. Every name can belong to every type; only the context distinguishes them."""


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


def trait(draw: Draw, being: Being) -> tuple[Scale, int]:
    """A random scale and the pole of `being` on it, which stays the same once drawn."""
    scales = lexicon().scales[being.on]
    number = draw.below(len(scales))
    pole = fate(draw, being) if scales[number].moral else draw.below(2)
    return scales[number], being.traits.setdefault(number, pole)


def fate(draw: Draw, being: Being) -> int:
    """0 for good and 1 for bad; in nine of ten draws as `being` is."""
    return int(being.good == draw.chance(0.1))
