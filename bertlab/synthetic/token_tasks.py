"""Tasks whose targets are tokens: named entities, parts of speech, and answers to questions.

Entities of all four types share the same names: a cue beside the name decides. Parts of speech are those of notes in
which neither the form of a word nor its neighbours decide, as in "brave weaver praised" and "weaver praised".
"""

import functools
import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from bertlab.synthetic.language import TEMPLATES, WORDS, Draw, marked, sentence, text
from bertlab.synthetic.sayings import Sample
from bertlab.synthetic.world import NAMED, Being, deed, lexicon, transfer, unnamed

_ENTITIES, _NOTES, _QUESTIONS = (TEMPLATES[name] for name in ("entities", "parts-of-speech", "questions"))
_TAGS: dict[str, str] = _NOTES["tags"]
"""The tag of Universal Dependencies of each slot and word of a note."""


def entities(sample: Sample) -> dict[str, Any]:
    """Named entities in BIO: `tokens` and `ner_tags`, strings such as B-PER, one per token."""
    draw = sample.draw
    clause = draw.one(_CLAUSES)(sample)
    if draw.chance(0.3):
        clause = f"{clause}, {draw.one(['and', *WORDS['contrast']])} {draw.one(_CLAUSES)(sample)}"
    tokens: list[str] = []
    tags: list[str] = []
    for kind, words in marked(clause):
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
    return text(draw, _ENTITIES[form], values)


def _dealing(sample: Sample) -> str:
    one, other = sample.named(), sample.named(sample.draw.one(("place", "group", "work")))
    values = {"mention": _mark(one), "other": _mark(other), "kind": one.kind}
    values["verb"] = sample.draw.one(lexicon().dealings[other.on])
    return text(sample.draw, _ENTITIES["dealing"], values)


def _deed(sample: Sample) -> str:
    one, two = _mark(sample.named()), _mark(sample.named())
    return deed(sample.draw, one, sample.draw.one(lexicon().deeds), sample.draw.below(2), two)


def _pair(sample: Sample) -> str:
    draw, one = sample.draw, _any(sample)
    two = sample.named(one.on)
    noun, both = draw.one((one.kind, one.category.name)), draw.one(WORDS["both"])
    return f"{_mark(one)} and {_mark(two)} were {both} {_adjective(draw, one)}, as a {noun} is"


def _vague(sample: Sample) -> str:
    return text(sample.draw, "{mention} was {mentioned} {season}", {"mention": _mark(_any(sample))})


_CLAUSES = (_cue,) * 12 + (_dealing,) * 3 + (_deed, _pair, _pair, _vague, _vague)


@functools.cache
def words(rare: bool) -> dict[str, list[str]]:
    """The words of each slot that have one part of speech: one in three of each list, or the `rare` others."""
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
    common = {word for group in lists.values() for forms in group for word in forms[::3]}
    return {
        name: [word for forms in group for word in forms if (word not in common) == rare and len(tags[word]) == 1]
        for name, group in lists.items()
    }


def parts_of_speech(sample: Sample) -> dict[str, Any]:
    """Parts of speech: `tokens` and their tags, `upos`; all open-class words are rare, or none is."""
    draw, pools = sample.draw, {**words(sample.rare), "name": sample.pool}
    tokens: list[str] = []
    tags: list[str] = []
    for part in draw.one(_NOTES["notes"]).split():
        for slot in draw.one(_NOTES["who"]).split() if part == "who" else [part]:
            tokens.append(draw.one(pools[slot]).lower() if slot in pools else slot)
            tags.append(_TAGS[slot])
    return {"tokens": tokens, "upos": tags}


def fact(sample: Sample, one: Being, two: Being, topic: str) -> tuple[str, str, str]:
    """A fact about `one`, and for some topics `two`: a clause, a question, and its answer as in the clause."""
    draw, words = sample.draw, lexicon()
    values: dict[str, Any] = {"one": one, "two": two}
    if topic == "deed":
        verbs, side = draw.one(words.deeds), draw.below(2)
        values["verb"] = draw.one(verbs.sides[side])
        values["clause"] = deed(draw, one.name, verbs, side, two.name)
    elif topic == "transfer":
        verbs, thing = draw.one(words.transfers), unnamed(draw, "thing")
        clause = transfer(draw, one.name, two.name, verbs, f"the {thing.kind}", draw.below(2))
        give, get = draw.one(verbs.sides[0]), draw.one(verbs.sides[1])
        values |= {"thing": thing, "clause": clause, "give": give, "get": get}
    elif topic == "journey":
        values |= {"here": sample.named("place"), "there": sample.named("place")}
    elif topic == "trait":
        values["adjective"] = draw.one(words.scales["person"]).poles[draw.below(2)]
    elif topic == "job":
        values["job"] = [one.kind, one.category.name]
    elif topic == "dealing":
        other = sample.named(draw.one(("place", "group", "work")))
        values |= {"other": other, "dealt": words.dealings[other.on], "noun": [other.kind, other.category.name]}
    clause = text(draw, _QUESTIONS[topic]["clause"], values)
    questions = _QUESTIONS[topic]["questions"]
    question, answer = draw.one(questions) if len(questions) > 1 else questions[0]
    return clause, text(draw, question, values), text(draw, answer, values)


def extractive(sample: Sample) -> dict[str, Any]:
    """A context, a question about one of its facts in other words, and the answer (none for label 0), as in SQuAD."""
    draw = sample.draw
    one, two, three = (sample.named() for _ in range(3))
    facts = []
    for topic in draw.some([*_QUESTIONS], 5 + draw.below(2)):
        about, beside = draw.one(((one, two), (two, one), (one, three)))
        facts.append(fact(sample, about, beside, topic))
    spare, _, _ = facts.pop()  # replaces the fact in question if that is not answerable
    number = draw.below(len(facts))
    clause, question, answer = facts[number]
    clauses = [clause for clause, _, _ in facts]
    answers: dict[str, list[Any]] = {"text": [], "answer_start": []}
    if not sample.label:
        clauses[number] = spare
    context = " ".join(map(sentence, clauses))
    if sample.label:
        stated = sentence(clause)
        start = context.index(stated) + stated.lower().index(answer.lower())
        answers = {"text": [context[start : start + len(answer)]], "answer_start": [start]}
    return {
        "id": sample.id,
        "title": one.full,
        "context": context,
        "question": sentence(question, "?"),
        "answers": answers,
    }
