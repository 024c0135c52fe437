"""Named entities and noun phrases of the documents, by the words of the lexicon."""

import functools
import re
from collections.abc import Iterator, Sequence

from bertlab.synthetic.world import lexicon

VERSION = 1
"""Raised when the spans change; part of the ids of runs that read them."""

_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|[.,?]")
# Tags of words: D a determiner, A an adjective, N a noun, E a name, F a name that cannot continue the one before.
_ENTITY = re.compile("[EF]E?")
_PHRASE = re.compile("D?A*(?:N+(?:[EF]E?)?|[EF]E?)")
_FRONTED = re.compile("(?<![^c])tEE")
"""`To Salia Sadon gave it`, where a clause begins so: two names, the only ones that stand side by side."""


def annotate(sentences: Sequence[str]) -> Iterator[list[tuple[int, int, int]]]:
    """The spans of each sentence: the kind (0: named entity, 1: noun phrase), the first character and the end.

    An entity is a name of one word or two. A noun phrase is nouns of the lexicon, a name or both, with the determiner
    and the adjectives in front: `the brave smith Salia Sadon`. Pronouns are left out, and the nouns in phrases that the
    lexicon has as a whole, such as `leaned on a stick`.
    """
    tags = _tags()
    for sentence in sentences:
        words = [*_WORD.finditer(sentence)]
        tagged = "".join(tags.get(word[0]) or tags.get(word[0].lower(), "-") for word in words)
        tagged = _FRONTED.sub("tEF", tagged)
        spans = []
        for kind, pattern in enumerate((_ENTITY, _PHRASE)):
            places = (match.span() for match in pattern.finditer(tagged))
            spans += [(kind, words[first].start(), words[end - 1].end()) for first, end in places]
        yield spans


@functools.cache
def _tags() -> dict[str, str]:
    """The tag of each word that has one."""
    world = lexicon()
    categories = [category for group in world.categories.values() for category in group]
    nouns = {"woman", "man", *world.nouns.values(), *(noun for claim in world.claims for noun in claim.nouns)}
    nouns.update(noun for category in categories for noun in (category.name, category.part, *category.kinds))
    poles = [pole for scales in world.scales.values() for scale in scales for pole in scale.poles]
    adjectives = {word for words in [*poles, *(claim.qualities for claim in world.claims)] for word in words}
    tags = {"D": ("a", "an", "the", "every", "no", "its", "her", "his"), "N": nouns, "A": adjectives, "E": world.names}
    tag_of = {word: tag for tag, words in tags.items() for word in words}
    return tag_of | {"to": "t", ",": "c"}
