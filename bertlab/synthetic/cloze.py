"""Cloze questions in the form of ReCoRD: a passage, and a sentence that says one of its facts in other words.

A fact stands beside its contrary about someone else, in the same form, so only the meaning of a word tells who is
missing: the passage says that one person was brave and another timid, and the question asks who was bold.
"""

from typing import Any

from bertlab.synthetic.language import Draw, sentence
from bertlab.synthetic.sayings import Sample
from bertlab.synthetic.world import lexicon, transfer, unnamed

BLANK = "@placeholder"
"""Stands for the missing name, as in ReCoRD."""
Contraries = list[tuple[str, str]]
"""Two facts about `{}`, each in two wordings."""


def cloze(sample: Sample) -> dict[str, Any]:
    """A `passage` of four facts, a `query` with a blank, the names of three people as `entities`, and the `answers`."""
    draw = sample.draw
    names: list[str] = []
    while len(names) < 3:
        names += {sample.named().name}.difference(names)
    facts = [
        (said.format(name), again.format(BLANK), name)
        for topic in draw.some((_traits, _trades, _deeds, _transfers), 2)
        for *people, third in [draw.some(names, 3)]
        for name, (said, again) in zip(people, topic(draw, third), strict=True)
    ]
    _, query, answer = draw.one(facts)
    passage = " ".join(sentence(said) for said, _, _ in draw.some(facts, len(facts)))
    return {"passage": passage, "query": sentence(query), "entities": names, "answers": [answer]}


def _traits(draw: Draw, third: str) -> Contraries:
    words = [draw.some(pole, 2) for pole in draw.one(lexicon().scales["person"]).poles]
    return [(f"{{}} was {one}", f"{{}} was {two}") for one, two in words]


def _trades(draw: Draw, third: str) -> Contraries:
    trades = draw.some(lexicon().categories["person"], 2)
    return [(f"{{}} worked as a {draw.one(trade.kinds)}", f"{{}} worked as a {trade.name}") for trade in trades]


def _deeds(draw: Draw, third: str) -> Contraries:
    verbs = [draw.some(side, 2) for side in draw.one(lexicon().deeds).sides]
    return [(f"{{}} {one.past} {third}", f"{third} was {two.participle} by {{}}") for one, two in verbs]


def _transfers(draw: Draw, third: str) -> Contraries:
    """Something goes to the third person and on to another, as seen by one side and by the other."""
    verbs, thing, side = draw.one(lexicon().transfers), unnamed(draw, "thing").name, draw.below(2)
    ways = (("{}", third), (third, "{}"))
    one, two = ([transfer(draw, *way, verbs, thing, seen) for seen in (side, 1 - side)] for way in ways)
    return [(one[0], one[1]), (two[0], two[1])]
