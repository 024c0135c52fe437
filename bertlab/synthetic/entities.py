"""Named entities of four types in BIO: all types share the same names, so the context decides.

A cue (a kind, an adjective, a verb, a part) precedes or follows the name, sometimes at a distance. Few cues of the test
set are frequent in the training set, but all are in the documents.
"""

import re
from typing import Any

from bertlab.synthetic.draw import Draw
from bertlab.synthetic.language import TEMPLATES, WORDS, deed, sentence, text
from bertlab.synthetic.lexicon import lexicon
from bertlab.synthetic.sayings import Sample
from bertlab.synthetic.world import NAMED, Being

_TEMPLATES = TEMPLATES["entities"]
# A clause contains a name as <PER:First Last> until it is split into words and tags.
_PIECE = re.compile(r"<([A-Z]+):([^>]*)>|[A-Za-z-]+|[^\sA-Za-z<>]")


def entities(sample: Sample) -> dict[str, Any]:
    """One example: `tokens` and `ner_tags`, strings such as B-PER, one per token."""
    draw = sample.draw
    clause = draw.one(_CLAUSES)(sample)
    if draw.chance(0.3):
        clause = f"{clause}, {draw.one(['and', *WORDS['contrast']])} {draw.one(_CLAUSES)(sample)}"
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


def _any(sample: Sample) -> Being:
    return sample.named(sample.draw.one([*NAMED]))


def _adjective(draw: Draw, being: Being) -> str:
    return draw.one(draw.one(draw.one(lexicon().scales[being.on]).poles))


def _cue(sample: Sample) -> str:
    """A clause with a cue to the type: a noun, an adjective or a part, or a deed."""
    draw, being = sample.draw, _any(sample)
    values = {"mention": _mark(being), "when": draw.one(WORDS["season"]), "part": being.category.part}
    pick = draw.uniform()
    if pick < 0.4:
        form = "noun"
        values["noun"] = draw.one((being.kind, being.kind, being.category.name))
        values["verb"] = draw.one(WORDS["treated"])
    elif pick < 0.75:
        form, values["adjective"] = "trait", _adjective(draw, being)
    else:
        form, values["deed"] = "deed", draw.one(being.category.deeds)
    return text(draw, _TEMPLATES[form], values)


def _dealing(sample: Sample) -> str:
    one, other = sample.named(), sample.named(sample.draw.one(("place", "group", "work")))
    values = {"mention": _mark(one), "other": _mark(other), "kind": one.kind}
    values["verb"] = sample.draw.one(lexicon().dealings[other.on])
    return text(sample.draw, _TEMPLATES["dealing"], values)


def _deed(sample: Sample) -> str:
    one, two = _mark(sample.named()), _mark(sample.named())
    return deed(sample.draw, one, sample.draw.one(lexicon().deeds), sample.draw.below(2), two)


def _pair(sample: Sample) -> str:
    draw, one = sample.draw, _any(sample)
    two = sample.named(one.on)
    noun, both = draw.one((one.kind, one.category.name)), draw.one(WORDS["both"])
    return f"{_mark(one)} and {_mark(two)} were {both} {_adjective(draw, one)}, as a {noun} is"


def _vague(sample: Sample) -> str:
    """A clause without a cue to the type."""
    return text(sample.draw, "{mention} was {mentioned} {season}", {"mention": _mark(_any(sample))})


_CLAUSES = (_cue,) * 12 + (_dealing,) * 3 + (_deed, _pair, _pair, _vague, _vague)
