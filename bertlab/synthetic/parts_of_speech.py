"""Parts of speech of notes without capitals, articles and punctuation, with words that no training example has.

Neither the form of such a word nor its neighbours distinguish an adjective from a noun or a name, as in "brave weaver
praised" and "weaver praised"; the documents show the words in whole sentences. The tags are those of Universal
Dependencies.
"""

import functools
import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from bertlab.synthetic.language import TEMPLATES
from bertlab.synthetic.lexicon import lexicon
from bertlab.synthetic.sayings import Sample

_TEMPLATES = TEMPLATES["parts-of-speech"]
_TAGS: dict[str, str] = _TEMPLATES["tags"]


@functools.cache
def words(rare: bool) -> dict[str, list[str]]:
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
    tags: dict[str, set[str]] = defaultdict(set)
    for name, group in lists.items():
        for word in itertools.chain.from_iterable(group):
            tags[word].add(_TAGS[name])
    common = {word for group in lists.values() for each in group for word in each[::3]}
    return {
        name: [word for each in group for word in each if (word not in common) == rare and len(tags[word]) == 1]
        for name, group in lists.items()
    }


def parts_of_speech(sample: Sample) -> dict[str, Any]:
    """One example: `tokens` and their tags, `upos`; all open-class words are rare, or none is."""
    draw, known = sample.draw, {**words(sample.rare), "name": sample.pool}
    tokens: list[str] = []
    tags: list[str] = []
    for part in draw.one(_TEMPLATES["notes"]).split():
        for slot in draw.one(_TEMPLATES["who"]).split() if part == "who" else [part]:
            tokens.append(draw.one(known[slot]).lower() if slot in known else slot)
            tags.append(_TAGS[slot])
    return {"tokens": tokens, "upos": tags}
