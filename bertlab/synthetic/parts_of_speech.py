"""Parts of speech of notes without capitals, articles and punctuation, with words that no training example has.

Neither the form of such a word nor its neighbours distinguish an adjective from a noun or a name, as in "brave weaver
praised" and "weaver praised"; the documents show the words in whole sentences. The tags are those of Universal
Dependencies.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.lexicon import lexicon

_CLOSED = {"and": "CCONJ", "by": "ADP", "that": "SCONJ"}
"""The closed-class words, which all splits share."""

_TAGS = {
    "adjective": "ADJ", "noun": "NOUN", "name": "PROPN", "past": "VERB", "participle": "VERB", "saying": "VERB",
    "manner": "ADV",
}  # fmt: skip

_WHO = (
    "noun", "adjective noun", "adjective adjective noun", "name", "noun name", "adjective name", "name name",
)  # fmt: skip
_NOTES = (
    "who past who",
    "who past who and who",
    "who and who past who",
    "who manner past who",
    "who participle by who",
    "who adjective and participle by who",
    "who adjective and who adjective",
    "who saying that who past who",
    "who saying that who adjective",
)
"""Sequences of closed-class words, slots of `_TAGS`, and `who`, which stands for one of `_WHO`."""


@functools.cache
def words(rare: bool) -> dict[str, tuple[str, ...]]:
    """The open-class words of each slot: one in three of each list of the lexicon, or the `rare` others.

    Words with two parts of speech are excluded.
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


def example(draw: Draw, pool: Sequence[str], *, rare: bool) -> dict[str, Any]:
    """One example: `tokens` and their tags, `upos`; all open-class words are `rare`, or none is."""
    known = {**words(rare), "name": pool}

    def filled(form: str) -> list[tuple[str, str]]:
        tagged: list[tuple[str, str]] = []
        for slot in form.split():
            if slot == "who":
                tagged += filled(draw.one(_WHO))
            elif slot in _TAGS:
                tagged.append((draw.one(known[slot]).lower(), _TAGS[slot]))
            else:
                tagged.append((slot, _CLOSED[slot]))
        return tagged

    tokens, tags = zip(*filled(draw.one(_NOTES)), strict=True)
    return {"tokens": list(tokens), "upos": list(tags)}
