"""The inhabitants of the microworld: people, places, groups and works with names, animals and things without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.lexicon import Category, Scale, lexicon

NAMED = {"person": "PER", "place": "LOC", "group": "ORG", "work": "MISC"}
"""What has a name, and its entity type. Any name may belong to any of them: only the context tells."""


SORTS = {
    "person": "person", "place": "place", "group": "group", "work": "creation", "animal": "animal", "thing": "object",
}  # fmt: skip
"""The most general noun for what is in each table."""


@dataclass(slots=True)
class Being:
    """Someone or something that sentences are about; the world is what its fields say."""

    on: str
    """Which tables of the lexicon apply: person, place, group, work, animal or thing."""
    name: str
    """A short name; of an animal or a thing, what it is called by: `the brossle`."""
    full: str
    kind: str
    category: Category
    female: bool = False
    good: bool = True
    """Most of its traits are good ones, and it is mostly treated well; otherwise the contrary."""
    traits: dict[int, int] = field(default_factory=dict)
    """Pole by number of the scale."""

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
        """The noun for everything of its table."""
        return SORTS[self.on]

    def scales(self) -> tuple[Scale, ...]:
        """The scales that its traits lie on."""
        return lexicon().scales[self.on]


def kinds(on: str) -> tuple[Category, ...]:
    """The categories that a being of table `on` can belong to."""
    return lexicon().categories["job" if on == "person" else on]


def named(draw: Draw, on: str, names: Sequence[str]) -> Being:
    """A being with a name of one or two words out of `names`."""
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
    """A scale and the pole that `being` has on it, settled the first time it is asked."""
    scales = being.scales()
    number = draw.below(len(scales))
    pole = draw.below(2) if not scales[number].value else fate(draw, being)
    return scales[number], being.traits.setdefault(number, pole)


def fate(draw: Draw, being: Being) -> int:
    """0 for what befits a good being, 1 for what befits a bad one: mostly as `being` is."""
    return int(being.good == draw.chance(0.1))
