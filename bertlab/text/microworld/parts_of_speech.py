"""Parts of speech: words that no training row has, where the words around them leave several parts possible.

After `was` may come an adjective or a participle, after a name a verb, an adverb or another name, after `the` a noun
or an adjective; and some names are words otherwise: "the brewery Potter", "the brave potter". So neither a list of the
training words nor the pattern of a sentence is enough; the documents show the words in places that tell. The tags are
those of Universal Dependencies.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from bertlab.text.microworld.draw import Draw
from bertlab.text.microworld.language import SEASONS, sentence
from bertlab.text.microworld.lexicon import lexicon

_CLOSED = {
    "the": "DET", "a": "DET", "every": "DET", "was": "AUX", "by": "ADP", "in": "ADP", "on": "ADP", "at": "ADP",
    "and": "CCONJ", "that": "SCONJ", "one": "NUM", "last": "ADJ", "winter": "NOUN", "spring": "NOUN",
    "summer": "NOUN", "autumn": "NOUN", "monday": "NOUN", "morning": "NOUN", "night": "NOUN", "noon": "NOUN",
    ".": "PUNCT",
}  # fmt: skip
"""The words that every row may have."""

_TAGS = {"adjective": "ADJ", "noun": "NOUN", "past": "VERB", "participle": "VERB", "saying": "VERB", "manner": "ADV"}

BORROWED = 0.4
"""Share of the names that are words of the world, as people are called Rich and Baker."""

_CLAUSES = (
    "{name} was {adjective}",
    "{name} was {participle}",
    "{name} was {adjective} {season}",
    "{name} was {participle} {season}",
    "{name} {past} {name}",
    "{name} {past} the {noun} {season}",
    "{name} {past} the {adjective} {season}",
    "the {noun} {past} {name}",
    "the {adjective} {past} {name}",
    "the {noun} {name} was {participle}",
    "the {adjective} {noun} was {adjective}",
)

_SENTENCES = (
    *_CLAUSES,
    *("{name} {saying} that {clause}", "{name} {manner} {saying} that {clause}") * 2,
    "{name} {past} and {past} {name}",
    "the {noun} and the {adjective} {past} {name}",
    "{name} was {participle} by the {adjective} and the {noun}",
    "{name} was {adjective} and {participle}",
)

_SLOT = re.compile(r"{([a-z]+)}")

# An open-class word stands in a clause as <TAG:word> until it is cut into words and tags.
_PIECE = re.compile(r"<([A-Z]+):([^>]*)>|[A-Za-z-]+|[^\sA-Za-z<>]")


@functools.cache
def words(rare: bool) -> dict[str, tuple[str, ...]]:
    """The open-class words by what they are: of each list of the lexicon one in three, or the `rare` others.

    A word that can be two parts of speech is left out.
    """
    world = lexicon()
    sides = [side for deed in world.deeds + world.treatments for side in deed.sides]
    lists: dict[str, list[Sequence[str]]] = {
        "adjective": [pole for scales in world.scales.values() for scale in scales for pole in scale.poles],
        "noun": [category.kinds for categories in world.categories.values() for category in categories],
        "past": [*([verb.past for verb in side] for side in sides), *world.dealings.values()],
        "participle": [[verb.participle for verb in side] for side in sides],
        "saying": [claim.verbs for claim in world.claims],
        "manner": [claim.manners for claim in world.claims],
    }
    parts: dict[str, set[str]] = {}
    for name, group in lists.items():
        for word in (word for each in group for word in each):
            parts.setdefault(word, set()).add(_TAGS[name])
    common = {word for group in lists.values() for each in group for word in each[::3]}
    return {
        name: tuple(word for each in group for word in each if (word not in common) == rare and len(parts[word]) == 1)
        for name, group in lists.items()
    }


def row(draw: Draw, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """One row: `tokens` and as many tags, `upos`; its open-class words are all `rare`, or none is."""
    known = words(rare)

    def name() -> str:
        borrowed = draw.chance(BORROWED)
        return draw.one(known[draw.one(("adjective", "noun"))]).capitalize() if borrowed else draw.one(pool)

    def fill(slot: re.Match[str]) -> str:
        what = slot.group(1)
        if what in _TAGS:
            return f"<{_TAGS[what]}:{draw.one(known[what])}>"
        if what == "season":
            return draw.one(SEASONS)
        if what == "clause":
            return _SLOT.sub(fill, draw.one(_CLAUSES))
        return " ".join(f"<PROPN:{name()}>" for _ in range(1 + draw.chance(0.35)))

    tokens: list[str] = []
    tags: list[str] = []
    for piece in _PIECE.finditer(sentence(_SLOT.sub(fill, draw.one(_SENTENCES)))):
        tag, word = piece.groups()
        tokens.append(word or piece.group())
        tags.append(tag or _CLOSED[piece.group().lower()])
    return {"tokens": tokens, "upos": tags}
