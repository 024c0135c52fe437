"""The inhabitants of the synthetic world: named people, places, groups and works; animals and things without names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.lexicon import Category, Scale, lexicon

NAMED = {"person": "PER", "place": "LOC", "group": "ORG", "work": "MISC"}
"""The entity type of what has a name. Every name can belong to every type; only the context distinguishes them."""

SORTS = {
    "person": "person", "place": "place", "group": "group", "work": "creation", "animal": "animal", "thing": "object",
}  # fmt: skip
"""The most general noun of each table."""


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
    female: bool = False
    good: bool = True
    """Whether most of its traits are good and most deeds treat it well; otherwise the opposite."""
    traits: dict[int, int] = field(default_factory=dict)
    """The pole on each scale, by the index of the scale."""

    @property
    def subject(self) -> str:
        """`he`, `she` or `it`."""
        return ("she" if self.female else "he") if self.on == "person" else "it"

    @property
    def object(self) -> str:
        """`him`, `her` or `it`."""
        return ("her" if self.female else "him") if self.on == "person" else "it"

    @property
    def possessive(self) -> str:
        """`his`, `her` or `its`."""
        return ("her" if self.female else "his") if self.on == "person" else "its"

    @property
    def noun(self) -> str:
        """The most general noun."""
        return ("woman" if self.female else "man") if self.on == "person" else self.category.name

    @property
    def sort(self) -> str:
        """The general noun of its table."""
        return SORTS[self.on]

    def scales(self) -> tuple[Scale, ...]:
        """The scales of its traits."""
        return lexicon().scales[self.on]


def kinds(on: str) -> tuple[Category, ...]:
    """The categories of the table `on`."""
    return lexicon().categories["job" if on == "person" else on]


def named(draw: Draw, on: str, names: Sequence[str]) -> Being:
    """A being with a name of one or two words from `names`."""
    category = draw.one(kinds(on))
    name = draw.one(names)
    full = f"{name} {draw.one(names)}" if draw.chance(0.35) else name
    if on != "person":
        name = full
    return Being(on, name, full, draw.one(category.kinds), category, draw.chance(0.5), draw.chance(0.5))


def unnamed(draw: Draw, on: str) -> Being:
    """An animal or a thing."""
    category = draw.one(kinds(on))
    kind = draw.one(category.kinds)
    return Being(on, f"the {kind}", f"the {kind}", kind, category, good=draw.chance(0.5))


def trait(draw: Draw, being: Being) -> tuple[Scale, int]:
    """A random scale and the pole of `being` on it, which stays the same once drawn."""
    scales = being.scales()
    number = draw.below(len(scales))
    pole = draw.below(2) if not scales[number].value else fate(draw, being)
    return scales[number], being.traits.setdefault(number, pole)


def fate(draw: Draw, being: Being) -> int:
    """0 for good and 1 for bad; in nine of ten draws as `being` is."""
    return int(being.good == draw.chance(0.1))
