"""A reader who knows the words of the world writes summaries and fused sentences, and finds the missing names."""

import re
from collections import Counter

import pytest

from bertlab.synthetic.cloze import BLANK
from bertlab.synthetic.language import WORDS, sentence
from bertlab.synthetic.world import lexicon

VERBS = {verb.past: side for verbs in lexicon().deeds + lexicon().treatments
         for side in verbs.sides for verb in side}  # fmt: skip
INTRODUCED = (
    r"(?P<name>\w+) was an? \S+ (?P<kind>\w+)",
    r"Once there was an? \S+ (?P<kind>\w+) called (?P<name>\w+)",
    r"People in [\w ]+ said that (?P<name>\w+) was an? \S+ (?P<kind>\w+)",
)


def read(document):
    """The kinds of people by their names, and the events: who did what to whom or to what."""
    one, two, *events = document.removesuffix(".").split(". ")
    matches = [next(filter(None, (re.fullmatch(form, clause) for form in INTRODUCED))) for clause in (one, two)]
    kind_of = {match["name"]: match["kind"] for match in matches}
    name_of = {f"the {kind}": name for name, kind in kind_of.items()}
    done = []
    for clause in events:
        what = re.sub(rf" ({'|'.join(WORDS['season'])})$", "", clause)
        who, verb, whom = re.fullmatch(r"(The \w+|\w+) (\w+) (.+)", what).groups()
        done.append((name_of.get(who.lower(), who), verb, name_of.get(whom, whom)))
    return kind_of, done


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_the_summary_follows_from_the_story_and_the_lexicon(rows, split):
    for row in rows("summaries", split):
        kind_of, done = read(row["document"])
        agents = [who for who, *_ in done]
        hero = max(kind_of, key=agents.count)
        (category,) = (c.name for c in lexicon().categories["person"] if kind_of[hero] in c.kinds)
        assert category not in row["document"].lower().split()
        _, verb, whom = next(event for event in reversed(done) if event[0] == hero)
        assert row["summary"] == sentence(f"{hero}, a {category}, {VERBS[verb][0].past} {whom}")


def test_the_person_the_last_event_and_the_verb_have_to_be_found(rows):
    """The person is as often introduced last, and is often not who acts last; most verbs have another word."""
    introduced = last = plain = 0
    examples = rows("summaries", "validation")
    for row in examples:
        kind_of, done = read(row["document"])
        hero = row["summary"].split(",")[0]
        introduced += next(iter(kind_of)) == hero
        last += done[-1][0] == hero
        plain += row["summary"].split()[3] in row["document"].split()
    assert introduced / len(examples) == pytest.approx(0.5, abs=0.05)
    assert last / len(examples) == pytest.approx(2 / 3, abs=0.05)
    assert plain / len(examples) < 0.5


def test_evaluated_stories_have_kinds_of_people_that_no_training_story_has(rows):
    kinds = {split: {kind for row in rows("summaries", split) for kind in read(row["document"])[0].values()}
             for split in ("train", "test")}  # fmt: skip
    assert len(kinds["test"] - kinds["train"]) > len(kinds["train"])


SIDES = {
    word: side for scale in lexicon().scales["person"] if scale.moral for side in (0, 1) for word in scale.poles[side]
}
SIDES |= {verb.past: side for verbs in lexicon().deeds for side in (0, 1) for verb in verbs.sides[side]}


def fused(source):
    """The two sentences as one, by what is known of the words."""
    text = source.lower().removesuffix(".")
    when = next((f"{season} " for season in WORDS["season"] if text.startswith(season)), "")
    (one, verb, rest), (two, second, other) = (
        re.fullmatch(r"the (\w+) (\w+) (.+)", part).groups() for part in text.removeprefix(when).split(". ")
    )
    facts = [rest if verb == "was" else verb, other if second == "was" else second]
    joined = "and" if SIDES[facts[0]] == SIDES[facts[1]] else "but"
    if verb == second == "was":
        clause = f"the {one} was {rest} {joined} {other}"
    elif verb == "was":
        clause = f"the {rest} {one} {second} {other}"
    elif second != "was":
        clause = f"the {one} {verb} {joined} {second} {rest}"
    else:
        clause = f"the {one} {verb} {rest} " + (
            f"for being {other}" if joined == "and" else f"but the {two} was {other}"
        )
    return sentence(when + clause)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_two_sentences_are_fused_by_what_their_words_mean(rows, split):
    examples = rows("fusion", split)
    assert [fused(row["source"]) for row in examples] == [row["target"] for row in examples]
    links = {word: sum(f" {word} " in row["target"] for row in examples) / len(examples) for word in ("and", "but")}
    assert links == {"and": pytest.approx(0.25, abs=0.04), "but": pytest.approx(0.375, abs=0.04)}


def test_evaluated_sentences_have_words_that_are_rare_in_training(rows):
    words = {
        split: [set(row["target"].lower().split()) for row in rows("fusion", split)] for split in ("train", "test")
    }
    rare = {word for lists in (c.kinds for c in lexicon().categories["person"]) for word in lists[1::3]}
    shares = {split: sum(bool(rare & each) for each in parts) / len(parts) for split, parts in words.items()}
    assert shares == {"train": pytest.approx(0.2, abs=0.02), "test": pytest.approx(1 / 3, abs=0.03)}


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
