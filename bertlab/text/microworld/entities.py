"""Named entities of four types in BIO: the same names serve all types, so the words around decide.

A cue (a kind, an adjective, a verb, a part) stands on either side of the name and sometimes far from it; few of the
cues of the test set occur often in the training set, but all do in the documents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bertlab.text.microworld import language
from bertlab.text.microworld.draw import Draw
from bertlab.text.microworld.language import sentence
from bertlab.text.microworld.lexicon import lexicon
from bertlab.text.microworld.world import NAMED, Being, named

# A name stands in a clause as <PER:First Last> until it is cut into words and tags.
_PIECE = re.compile(r"<([A-Z]+):([^>]*)>|[A-Za-z-]+|[^\sA-Za-z<>]")


def row(draw: Draw, pool: Sequence[str]) -> dict[str, Any]:
    """One row: `tokens` and `ner_tags`, strings such as B-PER, one for each token."""
    clause = draw.one(_CLAUSES)(draw, pool)
    if draw.chance(0.3):
        clause = f"{clause}, {draw.one(('and', *language.CONTRAST))} {draw.one(_CLAUSES)(draw, pool)}"
    tokens, tags = [], []
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


def _apposition(draw: Draw, pool: Sequence[str]) -> str:
    being = _any(draw, pool)
    noun = draw.one((being.kind, being.kind, being.category.name))
    verb = draw.one(("remembered", "mentioned", "forgotten", "talked about", "seen", "sought"))
    when = draw.one(language.SEASONS)
    return draw.one((
        f"{_mark(being)}, a {noun}, was {verb} {when}",
        f"the {noun} {_mark(being)} was {verb} {when}",
        f"the {noun} that was {verb} {when} was {_mark(being)}",
        f"{when} they {draw.one(('spoke', 'thought', 'heard'))} of {_mark(being)}, which is a {noun}",
        f"of every {noun}, {_mark(being)} was {verb} most",
        f"{_mark(being)} was {verb} {when} as a {noun}",
    ))


def _description(draw: Draw, pool: Sequence[str]) -> str:
    being = _any(draw, pool)
    word, part = _adjective(draw, being), being.category.part
    return draw.one((
        f"{_mark(being)} was {word} {draw.one(language.SEASONS)}",
        f"no one thought that {_mark(being)} was {word}",
        f"{word} as ever, {_mark(being)} was known for the {part}",
        f"the {part} made {_mark(being)} known",
        f"they say that {_mark(being)} had the {part} {draw.one(language.SEASONS)}",
    ))


def _dealing(draw: Draw, pool: Sequence[str]) -> str:
    one = named(draw, "person", pool)
    other = named(draw, draw.one(("place", "group", "work")), pool)
    verb = draw.one(lexicon().dealings[other.on])
    return draw.one((
        f"{_mark(one)} {verb} {_mark(other)} {draw.one(language.SEASONS)}",
        f"they {verb} {_mark(other)} with {_mark(one)}",
        f"the {one.kind} {verb} {_mark(other)}",
        f"{_mark(other)} was what {_mark(one)} {verb}",
    ))


def _deed(draw: Draw, pool: Sequence[str]) -> str:
    one, two = named(draw, "person", pool), named(draw, "person", pool)
    verbs = draw.one(lexicon().deeds)
    return language.deed(draw, _mark(one), verbs, draw.below(2), _mark(two))


def _habit(draw: Draw, pool: Sequence[str]) -> str:
    being = _any(draw, pool)
    deed = draw.one(being.category.deeds)
    return draw.one((
        f"{_mark(being)} {deed} {draw.one(language.SEASONS)}",
        f"they say that {_mark(being)} {deed}",
        f"it {deed}, as they say of {_mark(being)}",
    ))


def _pair(draw: Draw, pool: Sequence[str]) -> str:
    one = _any(draw, pool)
    two = named(draw, one.on, pool)
    noun = draw.one((one.kind, one.category.name))
    return f"{_mark(one)} and {_mark(two)} were {draw.one(('both', 'each', 'equally'))} {_adjective(draw, one)}, as a {noun} is"


def _vague(draw: Draw, pool: Sequence[str]) -> str:
    """Nothing here tells the type."""
    being = _any(draw, pool)
    return f"{_mark(being)} was {draw.one(('mentioned', 'forgotten', 'remembered'))} {draw.one(language.SEASONS)}"


_CLAUSES = (_apposition,) * 5 + (_description,) * 4 + (_dealing,) * 3 + (_habit,) * 3 + (_deed, _pair, _pair, _vague)
