"""Named entities of four types in BIO: all types share the same names, so the context decides.

A cue (a kind, an adjective, a verb, a part) precedes or follows the name, sometimes at a distance. Few cues of the test
set are frequent in the training set, but all are in the documents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bertlab.synthetic import language
from bertlab.synthetic.draw import Draw
from bertlab.synthetic.language import sentence
from bertlab.synthetic.lexicon import lexicon
from bertlab.synthetic.world import NAMED, Being, named

# A clause contains a name as <PER:First Last> until it is split into words and tags.
_PIECE = re.compile(r"<([A-Z]+):([^>]*)>|[A-Za-z-]+|[^\sA-Za-z<>]")


def example(draw: Draw, pool: Sequence[str]) -> dict[str, Any]:
    """One example: `tokens` and `ner_tags`, strings such as B-PER, one per token."""
    clause = draw.one(_CLAUSES)(draw, pool)
    if draw.chance(0.3):
        clause = f"{clause}, {draw.one(('and', *language.CONTRAST))} {draw.one(_CLAUSES)(draw, pool)}"
    tokens: list[str] = []
    tags: list[str] = []
    for piece in _PIECE.finditer(sentence(clause)):
        kind, name = piece.groups()
        words = name.split() if kind else [piece.group()]
        tokens += words
        tags += [f"{'I' if number else 'B'}-{kind}" if kind else "O" for number in range(len(words))]
    return {"tokens": tokens, "ner_tags": tags}


def _mark(being: Being) -> str:
    return f"<{NAMED[being.on]}:{being.full}>"


def _adjective(draw: Draw, being: Being) -> str:
    return draw.one(draw.one(draw.one(being.scales()).poles))


def _any(draw: Draw, pool: Sequence[str]) -> Being:
    return named(draw, draw.one(("person", "place", "group", "work")), pool)


def cue(draw: Draw, being: Being, mention: str) -> str:
    """A clause on `being`, called `mention`, with a cue to its type: person, place, group or work."""
    when = draw.one(language.SEASONS)
    form = draw.uniform()
    if form < 0.4:
        noun = draw.one((being.kind, being.kind, being.category.name))
        verb = draw.one(("remembered", "mentioned", "forgotten", "talked about", "seen", "sought"))
        return draw.one(
            (
                f"{mention}, a {noun}, was {verb} {when}",
                f"the {noun} {mention} was {verb} {when}",
                f"the {noun} that was {verb} {when} was {mention}",
                f"{when} they {draw.one(('spoke', 'thought', 'heard'))} of {mention}, which is a {noun}",
                f"of every {noun}, {mention} was {verb} most",
                f"{mention} was {verb} {when} as a {noun}",
            )
        )
    if form < 0.75:
        word, part = _adjective(draw, being), being.category.part
        return draw.one(
            (
                f"{mention} was {word} {when}",
                f"they thought that {mention} was {word}",
                f"{word} as ever, {mention} was known for the {part}",
                f"the {part} made {mention} known",
                f"they say that {mention} had the {part} {when}",
            )
        )
    deed = draw.one(being.category.deeds)
    return draw.one(
        (
            f"{mention} {deed} {when}",
            f"they say that {mention} {deed}",
            f"it {deed}, as they say of {mention}",
        )
    )


def _cue(draw: Draw, pool: Sequence[str]) -> str:
    being = _any(draw, pool)
    return cue(draw, being, _mark(being))


def _dealing(draw: Draw, pool: Sequence[str]) -> str:
    one = named(draw, "person", pool)
    other = named(draw, draw.one(("place", "group", "work")), pool)
    verb = draw.one(lexicon().dealings[other.on])
    return draw.one(
        (
            f"{_mark(one)} {verb} {_mark(other)} {draw.one(language.SEASONS)}",
            f"they {verb} {_mark(other)} with {_mark(one)}",
            f"the {one.kind} {verb} {_mark(other)}",
            f"{_mark(other)} was what {_mark(one)} {verb}",
        )
    )


def _deed(draw: Draw, pool: Sequence[str]) -> str:
    one, two = named(draw, "person", pool), named(draw, "person", pool)
    verbs = draw.one(lexicon().deeds)
    return language.deed(draw, _mark(one), verbs, draw.below(2), _mark(two))


def _pair(draw: Draw, pool: Sequence[str]) -> str:
    one = _any(draw, pool)
    two = named(draw, one.on, pool)
    noun = draw.one((one.kind, one.category.name))
    both = draw.one(("both", "each", "equally"))
    return f"{_mark(one)} and {_mark(two)} were {both} {_adjective(draw, one)}, as a {noun} is"


def _vague(draw: Draw, pool: Sequence[str]) -> str:
    """A clause without a cue to the type."""
    being = _any(draw, pool)
    return f"{_mark(being)} was {draw.one(('mentioned', 'forgotten', 'remembered'))} {draw.one(language.SEASONS)}"


_CLAUSES = (_cue,) * 12 + (_dealing,) * 3 + (_deed, _pair, _pair, _vague, _vague)
