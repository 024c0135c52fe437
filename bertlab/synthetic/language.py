"""Expresses facts: synonyms, voices, converses, comparatives, articles and capitals.

The functions return clauses in the past tense, without capital and full stop; `sentence` adds both.
"""

from __future__ import annotations

import functools
import re

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.lexicon import Deed, Verbs

RESTATE = ("in other words", "that is", "indeed", "in short", "put differently", "to be exact", "of course")
CONTRAST = ("but", "yet", "while", "whereas", "although")
RESULT = ("so", "therefore", "for this reason", "as a result", "that is why")
SEASONS = (
    "last winter",
    "in spring",
    "one summer",
    "every autumn",
    "on a monday",
    "one morning",
    "at night",
    "at noon",
)

_ARTICLE = re.compile(r"\b([Aa]) (?=(?:[aeio]|un|up|ug|hones))")


def sentence(clause: str, end: str = ".") -> str:
    """The clause with the right articles, a capital and a full stop."""
    text = _ARTICLE.sub(r"\1n ", clause)
    return text[0].upper() + text[1:] + end


def deed(draw: Draw, agent: str, verbs: Deed, side: int, patient: str) -> str:
    """`agent` did the deed of one `side` of `verbs` to `patient`, in either voice."""
    verb = draw.one(verbs.sides[side])
    if draw.chance(0.3):
        return f"{patient} was {verb.participle} by {agent}"
    return f"{agent} {verb.past} {patient}"


def transfer(draw: Draw, giver: str, receiver: str, verbs: Verbs, thing: str, side: int | None = None) -> str:
    """`thing` went from `giver` to `receiver`, as seen by the giver (`side` 0), the receiver (1) or either."""
    if side is None:
        side = draw.below(2)
    verb = draw.one(verbs[side])
    if side == 0:
        form = draw.below(3)
        if form == 0:
            return f"{giver} {verb.past} {thing} to {receiver}"
        if form == 1:
            return f"{thing} was {verb.participle} to {receiver} by {giver}"
        return (
            f"{giver} {verb.past} {receiver} {thing}"
            if verb.base in ("lend", "give", "hand", "sell")
            else (f"to {receiver} {giver} {verb.past} {thing}")
        )
    if draw.chance(0.25):
        return f"{thing} was {verb.participle} from {giver} by {receiver}"
    return f"{receiver} {verb.past} {thing} from {giver}"


def order(draw: Draw, first: str, second: str) -> str:
    """The event `first` happened before the event `second`; both are clauses."""
    form = draw.below(4)
    if form == 0:
        return f"{first} before {second}"
    if form == 1:
        return f"{second} after {first}"
    if form == 2:
        return f"after {first}, {second}"
    return f"first {first}, and then {second}"


@functools.cache
def comparative(word: str) -> str:
    """`taller`, `bigger`, `happier`, `more careful`."""
    groups = len(re.findall(r"[aeiouy]+", word.rstrip("e"))) or 1
    if word in ("ill", "fit", "unused", "worn") or "-" in word or word.endswith(("ed", "ing")):
        return f"more {word}"
    if word.endswith("y") and groups == 2 and word[-2] not in "aeiou":
        return f"{word[:-1]}ier"
    if groups > 1:
        return f"more {word}"
    if word.endswith("e"):
        return f"{word}r"
    if re.search(r"[^aeiou][aeiou][bdgmnpt]$", word):
        return f"{word}{word[-1]}er"
    return f"{word}er"
