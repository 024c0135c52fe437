"""A reader who knows the words of the world finds the missing name, and one who matches words does not."""

import re
from collections import Counter

import pytest

from bertlab.synthetic.cloze import BLANK
from bertlab.synthetic.world import lexicon

WORLD = lexicon()
MEANING = {}
"""The number of the pole, category or side of each word that decides."""
for group in (
    [pole for scale in WORLD.scales["person"] for pole in scale.poles],
    [[category.name, *category.kinds] for category in WORLD.categories["person"]],
    [[form for verb in side for form in (verb.past, verb.participle)] for deed in WORLD.deeds for side in deed.sides],
):
    for words in group:
        MEANING |= dict.fromkeys(words, len(MEANING))
GIVES = {form: number == 0 for transfer in WORLD.transfers for number, side in enumerate(transfer.sides)
         for verb in side for form in (verb.past, verb.participle)}  # fmt: skip


def fact(clause):
    """What a sentence says, as the same value for each wording."""
    words = clause.removesuffix(".").split()
    people = [word for word in words if word == BLANK or (word.istitle() and word != "The" and word != "To")]
    passive = "by" in words
    verb = next((word for word in words if word in GIVES), "")
    if not verb:
        meaning = next(MEANING[word] for word in reversed(words) if word in MEANING)
        return meaning, people[::-1] if passive else people
    thing = words[[word.lower() for word in words].index("the") + 1]
    agent = people[-1] if passive else people[1] if words[0] == "To" else people[0]
    (other,) = {*people} - {agent}
    return thing, [agent, other] if GIVES[verb] else [other, agent]


def solved(row):
    clauses = re.split(r"(?<=\.) ", row["passage"])
    facts = [fact(clause) for clause in clauses]
    meaning, people = fact(row["query"])
    return [name for name in row["entities"] if (meaning, [name if who == BLANK else who for who in people]) in facts]


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_one_name_fits_and_it_is_the_answer(rows, split):
    for row in rows("cloze", split):
        assert solved(row) == row["answers"]
        assert len(set(row["entities"])) == 3
        assert row["query"].count(BLANK) == 1


def test_neither_the_words_of_the_question_nor_places_tell_the_answer(rows):
    """Half of the answers can be guessed: the topic of the question tells which two people it may be about."""
    examples = rows("cloze", "validation")
    matched, places = 0.0, Counter()
    for row in examples:
        query = set(row["query"].lower().removesuffix(".").split())
        score = dict.fromkeys(row["entities"], 0.0)
        for clause in re.split(r"(?<=\.) ", row["passage"]):
            words = clause.removesuffix(".").split()
            for name in score.keys() & {*words} - {*row["query"].removesuffix(".").split()}:
                score[name] = max(score[name], len(query.intersection(clause.lower().removesuffix(".").split())))
        best = [name for name in score if score[name] == max(score.values())]
        matched += (row["answers"][0] in best) / len(best)
        places[row["entities"].index(row["answers"][0])] += 1
    assert matched / len(examples) < 0.6
    assert max(places.values()) < 0.4 * len(examples)
