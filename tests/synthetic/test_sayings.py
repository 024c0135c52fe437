"""Labels of the tasks on sayings follow from the lexicon."""

import re

import pytest

from bertlab.synthetic.world import lexicon


def status(word, field):
    """Whether a claim with this word is true (0), open (1) or false (2)."""
    return next(number for number, claim in enumerate(lexicon().claims) if word in getattr(claim, field))


def pole(adjective):
    """0 for a good trait of a person, 1 for a bad one, None for a neutral one."""
    scale = next(each for each in lexicon().scales["person"] if any(adjective in pole for pole in each.poles))
    return int(adjective in scale.poles[1]) if scale.moral else None


def report(start):
    """Who says or tells something, whether it is a saying or a tale, its status, and the word that decides this."""
    who, verb, noun = re.fullmatch(
        r"(?:It was |Then )?(\w+) (?:who (\w+)|told an? (\w+)) that .+\.", str(start)
    ).groups()
    return ("said", status(verb, "verbs"), who, verb) if verb else ("tale", status(noun, "nouns"), who, noun)


def verdict(text, who):
    """Which of a saying and a tale a text judges, and the status that it states."""
    opening, _, tail = text.removesuffix(".").partition(", ")
    assert opening in (f"So {who} said it", f"So {who} had it")
    return "said" if opening.endswith(" said it") else "tale", status(tail, "tails")


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_paraphrases_agree_and_other_pairs_do_not(rows, split):
    for row in rows("paraphrase", split)[:300]:
        (one, first), (two, second) = (
            re.fullmatch(r"\w+ (\w+) that (.+)\.", row[side]).groups() for side in ("sentence1", "sentence2")
        )
        assert first == second
        assert (status(one, "verbs") == status(two, "verbs")) == row["label"]


def test_similarity_is_the_share_of_agreement(rows):
    for row in rows("similarity", "validation")[:300]:
        (one, trait), (two, other) = (
            re.fullmatch(r"\w+ (\w+) that the ([\w-]+) .+", row[side]).groups() for side in ("sentence1", "sentence2")
        )
        same = (status(one, "verbs") == status(two, "verbs")) + (pole(trait) == pole(other))
        assert row["label"] == pytest.approx(2.5 * same, abs=0.21)
    scores = [row["label"] for row in rows("similarity", "train")]
    assert min(scores) >= 0
    assert max(scores) <= 5
    assert {round(score) for score in scores} == {0, 2, 3, 5}


def test_the_lexicon_decides_what_a_premise_entails(rows):
    used = {}
    for split in ("train", "validation"):
        for row in rows("inference", split)[:300]:
            about, known, who, word = report(row["premise"])
            supposed, side = verdict(row["hypothesis"], who)
            assert row["label"] == (1 if about != supposed else 0 if known == side else 2)
            used.setdefault(split, set()).add(word)
    assert used["train"].isdisjoint(used["validation"])


def test_one_ending_follows(rows):
    """All four endings are in each example; no evaluated example has a deciding word of training."""
    used = {}
    for split in ("train", "validation"):
        for row in rows("completion", split)[:600]:
            about, known, who, word = report(row["startphrase"])
            used.setdefault(split, set()).add(word)
            endings = [verdict(row[f"ending{number}"], who) for number in range(4)]
            assert [ending == (about, known) for ending in endings] == [number == row["label"] for number in range(4)]
            assert sorted(endings) == [("said", 0), ("said", 2), ("tale", 0), ("tale", 2)]
    assert used["train"].isdisjoint(used["validation"])


def test_the_lexicon_decides_praise_and_blame(rows):
    """The verb of a quotation may turn a trait into its opposite; no evaluated example has a verb of training."""
    used = {}
    for split in ("train", "validation"):
        for row in rows("sentiment", split)[:1_000]:
            verb, manner, trait = re.fullmatch(
                r"(?:It was \w+ who (\w+) that )?\w+ was (?:(\w+) )?([\w-]+)\.", row["sentence"]
            ).groups()
            assert (verb is None) == (manner is not None)
            turned = status(verb, "verbs") == 2 if verb else manner in ("not", "never", "hardly")
            assert row["label"] == (pole(trait) == (1 if turned else 0))
            used.setdefault(split, set()).add(verb)
    assert used["train"] & used["validation"] == {None}


def test_the_verb_decides_whether_a_sentence_answers_a_question(rows):
    questions = {"rightly sure": 0, "quite unsure": 1, "wrongly claim": 2}
    for row in rows("question-inference", "validation")[:300]:
        wanted = next(number for words, number in questions.items() if words in row["question"])
        assert (wanted == status(row["sentence"].split()[1], "verbs")) == (row["label"] == 0)
