"""Minimal pairs of the world's language: two sentences that differ in one word, one of which no document could have.

What decides stands three words away or more, so counts of short runs of words do not tell the sentences apart; and each
of the two words is right in one half of the pairs, so neither do the frequencies of words or the lengths of sentences.
"""

from collections.abc import Callable
from typing import Any

from bertlab.synthetic.language import TEMPLATES, WORDS, Draw, sentence
from bertlab.synthetic.sayings import Sample
from bertlab.synthetic.world import Category, Dimension, lexicon, unnamed

_TEMPLATES: dict[str, str | list[str]] = TEMPLATES["minimal-pairs"]
_FORMS = (("woman", "she", "her"), ("man", "he", "him"))
Contrast = tuple[str, str, dict[str, str]]
"""The right word, the wrong one, and the other words of both sentences."""


def minimal_pair(sample: Sample) -> dict[str, Any]:
    """A `good` and a `bad` sentence of a `paradigm` and a `phenomenon`; the label counts both sides of each paradigm.

    The side says which of two words or two kinds of words is the right one.
    """
    number, side = divmod(sample.label, 2)
    name = [*PARADIGMS][number]
    right, wrong, values = PARADIGMS[name](sample, side)
    phenomenon, _, paradigm = name.partition("/")
    template = _TEMPLATES[paradigm]
    clause = template if isinstance(template, str) else template[side]
    good, bad = (sentence(clause.format(word=word, **values)) for word in (right, wrong))
    return {"good": good, "bad": bad, "phenomenon": phenomenon, "paradigm": paradigm}


def _scale(draw: Draw) -> Dimension:
    """A scale of people with three words or more at each pole."""
    return draw.one([scale for scale in lexicon().scales["person"] if min(map(len, scale.poles)) > 2])


def _object_pronoun(sample: Sample, side: int) -> Contrast:
    scale = _scale(sample.draw)
    one, two = sample.draw.some(scale.poles[sample.draw.below(2)], 2)
    values = {"name": sample.named().name, "one": one, "two": two, "noun": _FORMS[side][0]}
    return _FORMS[side][2], _FORMS[1 - side][2], values


def _subject_pronoun(sample: Sample, side: int) -> Contrast:
    scale, pole = _scale(sample.draw), sample.draw.below(2)
    one, two = sample.draw.some(scale.poles[1 - pole], 2)
    values = {"noun": _FORMS[side][0], "one": one, "two": two, "now": sample.draw.one(scale.poles[pole])}
    return _FORMS[side][1], _FORMS[1 - side][1], values


def _transfer(sample: Sample) -> dict[str, str]:
    thing = unnamed(sample.draw, "thing")
    return {"one": sample.named().name, "two": sample.named().name, "thing": thing.kind}


def _preposition(sample: Sample, side: int) -> Contrast:
    verb = sample.draw.one(sample.draw.one(lexicon().transfers).sides[side]).past
    words = ("to", "from")
    return words[side], words[1 - side], _transfer(sample) | {"verb": verb}


def _verb_of_transfer(sample: Sample, side: int) -> Contrast:
    verbs = [sample.draw.one(sample.draw.one(lexicon().transfers).sides[one]).past for one in (side, 1 - side)]
    return verbs[0], verbs[1], _transfer(sample)


def _categories(sample: Sample, tables: tuple[str, ...]) -> tuple[Category, Category, dict[str, str]]:
    """Two categories of one table, and a sentence about a member of the first."""
    draw, on = sample.draw, sample.draw.one(tables)
    one, two = draw.some(lexicon().categories[on], 2)
    subject = draw.one(_FORMS)[1] if on == "person" else "it"
    return one, two, {"subject": subject, "deed": draw.one(one.deeds), "when": draw.one(WORDS["season"])}


def _class_noun(sample: Sample, side: int) -> Contrast:
    one, two, values = _categories(sample, ("person", "place", "group", "work"))
    return one.name, two.name, values


def _kind_noun(sample: Sample, side: int) -> Contrast:
    one, two, values = _categories(sample, ("person", "place", "group", "work"))
    return sample.draw.one(one.kinds), sample.draw.one(two.kinds), values


def _opposite_adjective(sample: Sample, side: int) -> Contrast:
    scale = _scale(sample.draw)
    one, two, wrong = sample.draw.some(scale.poles[side], 3)
    values = {"name": sample.named().name, "one": one, "two": two, "subject": sample.draw.one(_FORMS)[1]}
    return sample.draw.one(scale.poles[1 - side]), wrong, values


def _opposite_verb(sample: Sample, side: int) -> Contrast:
    draw, verbs = sample.draw, sample.draw.one(lexicon().deeds)
    verb, wrong = draw.some(verbs.sides[side], 2)
    values = {"one": sample.named().name, "two": sample.named().name, "verb": verb.past, "object": draw.one(_FORMS)[2]}
    return draw.one(verbs.sides[1 - side]).base, wrong.base, values


def _negated_subject(sample: Sample, side: int) -> Contrast:
    scale, pole = sample.draw.one(lexicon().scales["person"]), sample.draw.below(2)
    words = [sample.draw.one(scale.poles[one]) for one in (pole, 1 - pole)]
    return words[side], words[1 - side], {"noun": sample.draw.one(_FORMS)[0], "effect": scale.effects[pole]}


def _claim(sample: Sample, side: int, words: str) -> Contrast:
    """A word for what is true (side 0) or false (1), with a clause that says so."""
    draw, claims = sample.draw, (lexicon().claims[2 * side], lexicon().claims[2 - 2 * side])
    values = {"one": sample.named().name, "two": sample.named().name, "tail": draw.one(claims[0].tails)}
    values["adjective"] = sample.adjective("person", draw.below(2))
    return draw.one(getattr(claims[0], words)), draw.one(getattr(claims[1], words)), values


def _claiming_verb(sample: Sample, side: int) -> Contrast:
    return _claim(sample, side, "verbs")


def _claiming_noun(sample: Sample, side: int) -> Contrast:
    return _claim(sample, side, "nouns")


def _order_of_events(sample: Sample, side: int) -> Contrast:
    one, two = sample.named(), sample.named()
    first, second = (f"{being.name} {sample.draw.one(being.category.deeds)}" for being in (one, two))
    words = ("first", "after")
    return words[side], words[1 - side], {"first": first, "second": second}


PARADIGMS: dict[str, Callable[[Sample, int], Contrast]] = {
    "anaphor_agreement/object_pronoun": _object_pronoun,
    "anaphor_agreement/subject_pronoun": _subject_pronoun,
    "argument_structure/preposition": _preposition,
    "argument_structure/verb_of_transfer": _verb_of_transfer,
    "selection/class_noun": _class_noun,
    "selection/kind_noun": _kind_noun,
    "polarity/opposite_adjective": _opposite_adjective,
    "polarity/opposite_verb": _opposite_verb,
    "polarity/negated_subject": _negated_subject,
    "factivity/claiming_verb": _claiming_verb,
    "factivity/claiming_noun": _claiming_noun,
    "clause_structure/order_of_events": _order_of_events,
}
"""What makes the contrasts of each paradigm, by its phenomenon and its name."""
